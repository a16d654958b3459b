rule make_phantom:
    output:
        table="results/phantom_cohort/{cohort}/cohort.tsv",
        files=directory("results/phantom_cohort/{cohort}/files"),
        recorded="results/phantom_cohort/{cohort}/recorded.json",
    log:
        "results/phantom_cohort/{cohort}/make_phantom.log",
    threads: 2
    params:
        code=plan.code("make_phantom"),
        settings=plan.params("make_phantom"),
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
        item_table="results/{study}/cohort/items.parquet",
        exclusions="results/{study}/cohort/exclusions.parquet",
    log:
        "results/{study}/logs/register_cohort.log",
    params:
        code=plan.code("register_cohort"),
        settings=plan.params("register_cohort"),
    message:
        "Registering the cohort's cases, sources and items"
    script:
        "../scripts/stage.py"
