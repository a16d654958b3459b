"""Masks, DICOM SEG and slice tables to lesion slices and boxes."""
