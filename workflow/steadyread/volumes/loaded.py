"""What reading a volume from disk gives."""

from __future__ import annotations

from dataclasses import dataclass

from ..contracts.enums import Deidentified
from .volume import AxisMapping, Volume


@dataclass(frozen=True, eq=False)
class LoadedVolume:
    """A canonical volume with what its files say about it.

    Attributes
    ----------
    volume
        In RAS+ axis order; rescaled values, brighter is higher (MONOCHROME1 is already inverted).
    mapping
        Where the axes came from in the file's own array: NIfTI (i, j, k); DICOM (column, row, image).
    native_axis
        Canonical axis across which the slices were acquired. DICOM: the slice normal. NIfTI: the axis
        of the largest spacing, where spacings differ by more than 1 %, else the axial axis (2).
    lossy
        The pixels went through lossy compression, as far as the file says.
    deidentified, burned_in
        What the header states; NIfTI states nothing.
    nonfinite
        Number of NaN and infinite voxels.
    native_order
        DICOM: for each canonical index along `native_axis`, the image's place in the series' own
        order (InstanceNumber where all have one and no two the same, else position). NIfTI: None.
    instance_numbers, sop_instance_uids
        DICOM: of each canonical index along `native_axis`; None where absent. Never for tables or logs.
    frame_of_reference_uid
        DICOM: the series' frame of reference, None where absent. Never for tables or logs.
    """

    volume: Volume
    mapping: AxisMapping
    native_axis: int
    lossy: bool = False
    deidentified: Deidentified = Deidentified.UNKNOWN
    burned_in: bool | None = None
    nonfinite: int = 0
    native_order: tuple[int, ...] | None = None
    instance_numbers: tuple[int, ...] | None = None
    sop_instance_uids: tuple[str, ...] | None = None
    frame_of_reference_uid: str | None = None

    def source_index(self, axis: int, index: int) -> int:
        """A slice's index in the file's own order.

        Parameters
        ----------
        axis, index
            Canonical axis and index along it (not the display index, see slicing.display).
        """
        if self.native_order is not None and axis == self.native_axis:
            return self.native_order[index]
        return self.mapping.source_index(axis, index)
