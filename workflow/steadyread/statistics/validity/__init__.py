"""Proof by simulation that the intervals and tests hold (`snakemake validity`; PROTOCOLS 0.6, 0.7)."""
