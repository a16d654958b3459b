"""DICOM and NIfTI files to one Volume: array and affine that move together."""
