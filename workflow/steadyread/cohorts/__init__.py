"""A data set on disk to cases, sources and items."""
