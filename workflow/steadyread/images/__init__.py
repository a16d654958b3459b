"""Images derived from slices: blanks, crops, overlays, corruptions."""
