"""Volumes to 8-bit slices: plane, order, window, size, PNG."""
