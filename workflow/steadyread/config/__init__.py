"""Typed, closed configuration; the YAML, the JSON schema and the documentation are generated from it."""
