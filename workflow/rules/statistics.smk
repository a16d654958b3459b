rule estimate:
    input:
        cases="results/{study}/cohort/cases.parquet",
        trials=plan.over_shards("results/{study}/trials/r1/{shard}/trials.parquet"),
        outcomes=plan.over_models(
            "results/{study}/outcomes/{model}/{group}/outcomes.parquet"
        ),
    output:
        estimates="results/{study}/estimates/estimates.parquet",
    log:
        "results/{study}/logs/estimate.log",
    params:
        code=plan.code("estimate"),
        settings=plan.params("estimate"),
    message:
        "Estimating rates and contrasts, clustered by patient"
    script:
        "../scripts/stage.py"


rule check_sensitivity:
    input:
        cases="results/{study}/cohort/cases.parquet",
        trials=plan.over_shards("results/{study}/trials/r1/{shard}/trials.parquet"),
        outcomes=plan.over_models(
            "results/{study}/outcomes/{model}/{group}/outcomes.parquet"
        ),
        estimates="results/{study}/estimates/estimates.parquet",
    output:
        sensitivity="results/{study}/estimates/sensitivity.parquet",
    log:
        "results/{study}/logs/check_sensitivity.log",
    params:
        code=plan.code("check_sensitivity"),
        settings=plan.params("check_sensitivity"),
    message:
        "Testing the tested contrasts once more, by a marginal model"
    script:
        "../scripts/stage.py"


rule account_cases:
    input:
        cases="results/{study}/cohort/cases.parquet",
        exclusions=plan.exclusions,
        trials=plan.over_shards("results/{study}/trials/r1/{shard}/trials.parquet"),
        outcomes=plan.over_models(
            "results/{study}/outcomes/{model}/{group}/outcomes.parquet"
        ),
    output:
        flow="results/{study}/estimates/flow.parquet",
    log:
        "results/{study}/logs/account_cases.log",
    params:
        code=plan.code("account_cases"),
        settings=plan.params("account_cases"),
    message:
        "Accounting for every case: analysed, excluded with a reason, or ERROR"
    script:
        "../scripts/stage.py"


rule plan_analysis:
    output:
        plan="results/{study}/analysis_plan.json",
    log:
        "results/{study}/logs/plan_analysis.log",
    params:
        code=plan.code("plan_analysis"),
        settings=ledger.params,
    message:
        "Saying which analysis was planned before inference, and what changed since"
    script:
        "../scripts/stage.py"


rule published_table:
    input:
        estimates="results/{study}/estimates/estimates.parquet",
        published="config/published.tsv",
    output:
        csv=report(
            "reports/{study}/tables/published.csv",
            caption="../report/published.rst",
            category="Tables",
            labels={"table": "published beside ours"},
        ),
        markdown="reports/{study}/tables/published.md",
    log:
        "results/{study}/logs/published_table.log",
    params:
        code=plan.code("published_table"),
        settings=plan.params("published_table"),
    message:
        "Putting published numbers beside ours"
    script:
        "../scripts/stage.py"
