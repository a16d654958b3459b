rule main_table:
    input:
        estimates="results/{study}/estimates/estimates.parquet",
    output:
        csv=report(
            "reports/{study}/tables/main.csv",
            caption="../report/main_table.rst",
            category="Tables",
            labels={"table": "main"},
        ),
        markdown="reports/{study}/tables/main.md",
        latex="reports/{study}/tables/main.tex",
    log:
        "results/{study}/logs/main_table.log",
    params:
        code=plan.code("main_table"),
        settings=plan.params("main_table"),
    message:
        "Writing the main table"
    script:
        "../scripts/stage.py"


rule flips_figure:
    input:
        estimates="results/{study}/estimates/estimates.parquet",
    output:
        pdf="reports/{study}/figures/flips.pdf",
        svg=report(
            "reports/{study}/figures/flips.svg",
            caption="../report/flips.rst",
            category="Figures",
            labels={"figure": "flips by arm"},
        ),
        png="reports/{study}/figures/flips.png",
        data="reports/{study}/figures/flips.csv",
    log:
        "results/{study}/logs/flips_figure.log",
    params:
        code=plan.code("flips_figure"),
        settings=plan.params("flips_figure"),
    message:
        "Drawing the flip rates by arm"
    script:
        "../scripts/stage.py"


rule curves_figure:
    input:
        estimates="results/{study}/estimates/estimates.parquet",
    output:
        pdf="reports/{study}/figures/curves.pdf",
        svg=report(
            "reports/{study}/figures/curves.svg",
            caption="../report/curves.rst",
            category="Figures",
            labels={"figure": "dose and position"},
        ),
        png="reports/{study}/figures/curves.png",
        data="reports/{study}/figures/curves.csv",
    log:
        "results/{study}/logs/curves_figure.log",
    params:
        code=plan.code("curves_figure"),
        settings=plan.params("curves_figure"),
    message:
        "Drawing answers by how much of the lesion is left, and by its place"
    script:
        "../scripts/stage.py"


rule calibration_figure:
    input:
        estimates="results/{study}/estimates/estimates.parquet",
    output:
        pdf="reports/{study}/figures/calibration.pdf",
        svg=report(
            "reports/{study}/figures/calibration.svg",
            caption="../report/calibration.rst",
            category="Figures",
            labels={"figure": "calibration"},
        ),
        png="reports/{study}/figures/calibration.png",
        data="reports/{study}/figures/calibration.csv",
    log:
        "results/{study}/logs/calibration_figure.log",
    params:
        code=plan.code("calibration_figure"),
        settings=plan.params("calibration_figure"),
    message:
        "Drawing reliability and risk by coverage"
    script:
        "../scripts/stage.py"


rule strata_table:
    input:
        estimates="results/{study}/estimates/estimates.parquet",
    output:
        csv=report(
            "reports/{study}/tables/strata.csv",
            caption="../report/strata.rst",
            category="Tables",
            labels={"table": "by stratum"},
        ),
        markdown="reports/{study}/tables/strata.md",
    log:
        "results/{study}/logs/strata_table.log",
    params:
        code=plan.code("strata_table"),
        settings=plan.params("strata_table"),
    message:
        "Writing the headline numbers by stratum"
    script:
        "../scripts/stage.py"


rule flow_diagram:
    input:
        flow="results/{study}/estimates/flow.parquet",
    output:
        pdf="reports/{study}/figures/flow.pdf",
        svg=report(
            "reports/{study}/figures/flow.svg",
            caption="../report/flow.rst",
            category="Figures",
            labels={"figure": "case flow"},
        ),
        png="reports/{study}/figures/flow.png",
        data="reports/{study}/figures/flow.csv",
    log:
        "results/{study}/logs/flow_diagram.log",
    params:
        code=plan.code("flow_diagram"),
        settings=plan.params("flow_diagram"),
    message:
        "Drawing the case flow"
    script:
        "../scripts/stage.py"


rule exclusions_table:
    input:
        exclusions=plan.exclusions,
    output:
        csv=report(
            "reports/{study}/tables/exclusions.csv",
            caption="../report/exclusions.rst",
            category="Tables",
            labels={"table": "exclusions"},
        ),
        markdown="reports/{study}/tables/exclusions.md",
    log:
        "results/{study}/logs/exclusions_table.log",
    params:
        code=plan.code("exclusions_table"),
        settings=plan.params("exclusions_table"),
    message:
        "Listing every case that was left out, with its reason"
    script:
        "../scripts/stage.py"


rule sensitivity_table:
    input:
        sensitivity="results/{study}/estimates/sensitivity.parquet",
    output:
        csv=report(
            "reports/{study}/tables/sensitivity.csv",
            caption="../report/sensitivity.rst",
            category="Tables",
            labels={"table": "sensitivity of the tests"},
        ),
        markdown="reports/{study}/tables/sensitivity.md",
    log:
        "results/{study}/logs/sensitivity_table.log",
    params:
        code=plan.code("sensitivity_table"),
        settings=plan.params("sensitivity_table"),
    message:
        "Writing the tested contrasts beside their second test"
    script:
        "../scripts/stage.py"


rule contact_sheet:
    input:
        cases="results/{study}/cohort/cases.parquet",
        exclusions=plan.exclusions,
        slices=plan.over_shards("results/{study}/slices/{shard}/slices.parquet"),
        lesion_slices=plan.over_shards(
            "results/{study}/slices/{shard}/lesion_slices.parquet"
        ),
        images=plan.over_shards("results/{study}/images/{shard}/images.parquet"),
    output:
        png=report(
            "reports/{study}/figures/contact_sheet.png",
            caption="../report/contact_sheet.rst",
            category="Figures",
            labels={"figure": "contact sheet"},
        ),
        data="reports/{study}/figures/contact_sheet.csv",
    log:
        "results/{study}/logs/contact_sheet.log",
    params:
        code=plan.code("contact_sheet"),
        settings=plan.params("contact_sheet"),
    message:
        "Laying out the contact sheet with lesion boxes"
    script:
        "../scripts/stage.py"


rule summary:
    input:
        estimates="results/{study}/estimates/estimates.parquet",
        flow="results/{study}/estimates/flow.parquet",
        sensitivity="results/{study}/estimates/sensitivity.parquet",
        plan="results/{study}/analysis_plan.json",
        published="config/published.tsv",
        main_table="reports/{study}/tables/main.csv",
        figure="reports/{study}/figures/flips.svg",
        curves_figure="reports/{study}/figures/curves.svg",
        calibration_figure="reports/{study}/figures/calibration.svg",
        flow_figure="reports/{study}/figures/flow.svg",
        contact_sheet="reports/{study}/figures/contact_sheet.png",
        excluded="reports/{study}/tables/exclusions.csv",
    output:
        page=report(
            "reports/{study}/summary.html",
            caption="../report/summary.rst",
            category="Summary",
        ),
    log:
        "results/{study}/logs/summary.log",
    params:
        code=plan.code("summary"),
        settings=plan.params("summary"),
    message:
        "Writing the summary page"
    script:
        "../scripts/stage.py"


rule walkthrough:
    input:
        notebook="notebooks/walkthrough.ipynb",
        cases="results/{study}/cohort/cases.parquet",
        slices=plan.over_shards("results/{study}/slices/{shard}/slices.parquet"),
        images=plan.over_shards("results/{study}/images/{shard}/images.parquet"),
        trials=plan.over_shards("results/{study}/trials/r1/{shard}/trials.parquet"),
        outcomes=plan.over_models(
            "results/{study}/outcomes/{model}/{group}/outcomes.parquet"
        ),
    output:
        executed="reports/{study}/walkthrough.ipynb",
    log:
        "results/{study}/logs/walkthrough.log",
    params:
        code=plan.code("walkthrough"),
        settings=plan.params("walkthrough"),
    message:
        "Running the notebook: from a volume to a flip"
    script:
        "../scripts/stage.py"
