rule all:
    """The whole audit of the configured study: table, figures and summary."""
    input:
        rules.summary.output.page.format(study=plan.study.name),
        rules.main_table.output.latex.format(study=plan.study.name),
        rules.strata_table.output.csv.format(study=plan.study.name),
        rules.published_table.output.csv.format(study=plan.study.name),
        rules.sensitivity_table.output.csv.format(study=plan.study.name),


rule cohort:
    """The cases, slices and lesion slices; no model is asked."""
    input:
        plan.over_shards("results/{study}/slices/{shard}/lesion_slices.parquet"),


rule trials:
    """Everything up to the trials, and the check that enough cases are left; no model is asked."""
    input:
        f"{plan.results}/trials/gate.json",


rule outcomes:
    """The outcomes of every model of the study."""
    input:
        plan.over_models("results/{study}/outcomes/{model}/{group}/outcomes.parquet"),


rule tables:
    """The main table, strata, second tests, every case that was left out, and published numbers beside ours."""
    input:
        f"{plan.reports}/tables/main.csv",
        f"{plan.reports}/tables/strata.csv",
        f"{plan.reports}/tables/sensitivity.csv",
        f"{plan.reports}/tables/exclusions.csv",
        f"{plan.reports}/tables/published.csv",


rule notebook:
    """The walkthrough from a volume to a flip, executed: reports/<study>/walkthrough.ipynb."""
    input:
        f"{plan.reports}/walkthrough.ipynb",


rule figures:
    """Flips by arm, curves, calibration, case flow and contact sheet."""
    input:
        f"{plan.reports}/figures/flips.pdf",
        f"{plan.reports}/figures/curves.pdf",
        f"{plan.reports}/figures/calibration.pdf",
        f"{plan.reports}/figures/flow.pdf",
        f"{plan.reports}/figures/contact_sheet.png",
