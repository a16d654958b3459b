"""Ratios against peers, measured in one run on one machine. No test is timed."""
