"""The stage registry, receipts, and the dispatcher's half that Snakemake does not see."""
