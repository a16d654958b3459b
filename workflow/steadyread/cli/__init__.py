"""The steadyread command: replay, doctor, compare, power, fetch-models."""
