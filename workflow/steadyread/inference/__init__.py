"""Backends, request keys and the journal: trials to responses."""
