rule infer:
    input:
        gate="results/{study}/trials/gate.json",
        trials=plan.over_group("results/{study}/trials/r1/{shard}/trials.parquet"),
        images=plan.over_group("results/{study}/images/{shard}/images.parquet"),
        derived=plan.over_group("results/{study}/images/{shard}/derived.parquet"),
        listing=plan.snapshot,
    output:
        responses="results/{study}/responses/{model}/{group}/responses.parquet",
    log:
        "results/{study}/logs/infer/{model}/{group}.log",
    threads: plan.resource("threads")
    resources:
        gpu=plan.resource("gpus"),
        mem_mb=plan.resource("mem_mb"),
        runtime=plan.resource("runtime_min"),
    params:
        code=plan.code("infer"),
        settings=plan.params("infer"),
    message:
        "Asking {wildcards.model} the trials of group {wildcards.group}"
    script:
        "../scripts/stage.py"


rule score:
    input:
        trials=plan.over_group("results/{study}/trials/r1/{shard}/trials.parquet"),
        responses="results/{study}/responses/{model}/{group}/responses.parquet",
        prompt=plan.prompt,
    output:
        outcomes="results/{study}/outcomes/{model}/{group}/outcomes.parquet",
    log:
        "results/{study}/logs/score/{model}/{group}.log",
    params:
        code=plan.code("score"),
        settings=plan.params("score"),
    message:
        "Reading the answers of {wildcards.model}, group {wildcards.group}"
    script:
        "../scripts/stage.py"
