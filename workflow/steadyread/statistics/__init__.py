"""Rates, paired contrasts, intervals, tests, accounting."""
