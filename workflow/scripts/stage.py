"""The one script of every rule: runs the stage that bears the rule's name."""

from steadyread.stages.rule import run_rule

run_rule(snakemake)  # noqa: F821
