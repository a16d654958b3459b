rule make_phantom:
    output:
        table="results/phantom_cohort/cohort.tsv",
        files=directory("results/phantom_cohort/files"),
    params:
        code=plan.code("make_phantom"),
        settings=plan.params("make_phantom"),
    log:
        "results/logs/make_phantom.log",
    message:
        "Writing the phantom cohort: DICOM, NIfTI and a table, as anyone's data"
    script:
        "../scripts/stage.py"


rule register_cohort:
    input:
        table=plan.cohort_table,
    output:
        cases="results/{study}/cohort/cases.parquet",
        sources="results/{study}/cohort/sources.parquet",
        items="results/{study}/cohort/items.parquet",
        exclusions="results/{study}/cohort/exclusions.parquet",
    params:
        code=plan.code("register_cohort"),
        settings=plan.params("register_cohort"),
    log:
        "results/{study}/logs/register_cohort.log",
    message:
        "Registering the cohort's cases, sources and items"
    script:
        "../scripts/stage.py"
