"""The text of an answer to its outcome."""
