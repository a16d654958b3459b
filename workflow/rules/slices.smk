rule slice_volumes:
    input:
        cases="results/{study}/cohort/cases.parquet",
        sources="results/{study}/cohort/sources.parquet",
    output:
        slices="results/{study}/slices/{shard}/slices.parquet",
        exclusions="results/{study}/slices/{shard}/exclusions.parquet",
        images="results/{study}/images/{shard}/images.parquet",
    log:
        "results/{study}/logs/slice_volumes/{shard}.log",
    params:
        code=plan.code("slice_volumes"),
        settings=plan.params("slice_volumes"),
    message:
        "Slicing the volumes of shard {wildcards.shard}"
    script:
        "../scripts/stage.py"


rule mark_lesions:
    input:
        cases="results/{study}/cohort/cases.parquet",
        sources="results/{study}/cohort/sources.parquet",
        slices="results/{study}/slices/{shard}/slices.parquet",
        images="results/{study}/images/{shard}/images.parquet",
    output:
        lesion_slices="results/{study}/slices/{shard}/lesion_slices.parquet",
        exclusions="results/{study}/slices/{shard}/lesion_exclusions.parquet",
    log:
        "results/{study}/logs/mark_lesions/{shard}.log",
    params:
        code=plan.code("mark_lesions"),
        settings=plan.params("mark_lesions"),
    message:
        "Marking the lesion slices of shard {wildcards.shard}"
    script:
        "../scripts/stage.py"


rule perturb_images:
    input:
        slices="results/{study}/slices/{shard}/slices.parquet",
        lesion_slices="results/{study}/slices/{shard}/lesion_slices.parquet",
        images="results/{study}/images/{shard}/images.parquet",
    output:
        images="results/{study}/images/{shard}/derived.parquet",
    log:
        "results/{study}/logs/perturb_images/{shard}.log",
    params:
        code=plan.code("perturb_images"),
        settings=plan.params("perturb_images"),
    message:
        "Deriving the perturbed images of shard {wildcards.shard}"
    script:
        "../scripts/stage.py"
