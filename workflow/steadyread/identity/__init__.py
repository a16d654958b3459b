"""Digests of pixels, tables, requests and code; random draws derived from content."""
