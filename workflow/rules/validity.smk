from steadyread.statistics.validity.grid import PARTS


rule simulate_validity:
    output:
        cells="results/validity/{part,[a-z]+(_[0-9]+)?}.parquet",
    log:
        "results/logs/simulate_validity/{part}.log",
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        code=plan.code("simulate_validity"),
        settings=plan.params("simulate_validity"),
    message:
        "Simulating studies whose truth is known: {wildcards.part}"
    script:
        "../scripts/stage.py"


rule validity_table:
    input:
        cells=expand("results/validity/{part}.parquet", part=PARTS),
    output:
        csv=report(
            "reports/validity/validity.csv",
            caption="../report/validity.rst",
            category="Do the intervals hold?",
            labels={"table": "every cell"},
        ),
        markdown="reports/validity/validity.md",
        pdf="reports/validity/coverage.pdf",
        svg=report(
            "reports/validity/coverage.svg",
            caption="../report/validity.rst",
            category="Do the intervals hold?",
            labels={"figure": "coverage"},
        ),
        png="reports/validity/coverage.png",
    log:
        "results/logs/validity_table.log",
    params:
        code=plan.code("validity_table"),
        settings=plan.params("validity_table"),
    message:
        "Writing what the simulation found"
    script:
        "../scripts/stage.py"


rule check_validity:
    input:
        cells=expand("results/validity/{part}.parquet", part=PARTS),
        table="reports/validity/validity.csv",
    output:
        verdict="results/validity/verdict.json",
    log:
        "results/logs/check_validity.log",
    params:
        code=plan.code("check_validity"),
        settings=plan.params("check_validity"),
    message:
        "Checking that every interval and test keeps its promise"
    script:
        "../scripts/stage.py"


rule validity:
    """Proof by simulation that the statistics hold: reports/validity; fails where one does not."""
    input:
        "results/validity/verdict.json",
        "reports/validity/coverage.pdf",
