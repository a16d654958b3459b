rule compose_trials:
    input:
        cases="results/{study}/cohort/cases.parquet",
        item_table="results/{study}/cohort/items.parquet",
        slices="results/{study}/slices/{shard}/slices.parquet",
        lesion_slices="results/{study}/slices/{shard}/lesion_slices.parquet",
        derived="results/{study}/images/{shard}/derived.parquet",
        exclusions=[
            "results/{study}/cohort/exclusions.parquet",
            "results/{study}/slices/{shard}/exclusions.parquet",
            "results/{study}/slices/{shard}/lesion_exclusions.parquet",
        ],
        prompt=plan.prompt,
    output:
        trials="results/{study}/trials/r1/{shard}/trials.parquet",
        manifests="results/{study}/trials/r1/{shard}/manifests.parquet",
        exclusions="results/{study}/trials/r1/{shard}/exclusions.parquet",
    log:
        "results/{study}/logs/compose_trials/{shard}.log",
    params:
        code=plan.code("compose_trials"),
        settings=plan.params("compose_trials"),
    message:
        "Composing the trials of shard {wildcards.shard}: every item under every arm"
    script:
        "../scripts/stage.py"


rule check_cohort:
    input:
        cases="results/{study}/cohort/cases.parquet",
        exclusions=plan.exclusions,
        trials=plan.over_shards("results/{study}/trials/r1/{shard}/trials.parquet"),
    output:
        gate="results/{study}/trials/gate.json",
    log:
        "results/{study}/logs/check_cohort.log",
    params:
        code=plan.code("check_cohort"),
        settings=plan.params("check_cohort"),
    message:
        "Checking that enough cases are left before any model is asked"
    script:
        "../scripts/stage.py"
