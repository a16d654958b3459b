rule build_random_model:
    output:
        listing="results/models/{model}/snapshot.json",
        snapshot=directory("results/models/{model}/snapshot"),
    log:
        "results/models/{model}/build_random_model.log",
    params:
        code=plan.code("build_random_model"),
        settings=plan.params("build_random_model"),
    message:
        "Building the random-weight model {wildcards.model} from its seed"
    script:
        "../scripts/stage.py"


rule list_snapshot:
    input:
        # Not named, so no part of the receipt: they lie outside the project.
        plan.model_files,
    output:
        listing="results/models/{model}/listing.json",
    log:
        "results/models/{model}/list_snapshot.log",
    params:
        code=plan.code("list_snapshot"),
        settings=plan.params("list_snapshot"),
    message:
        "Digesting the weights of {wildcards.model} where they lie on this machine"
    script:
        "../scripts/stage.py"


rule train_readers:
    input:
        prompt=plan.prompt,
    output:
        readers=directory("results/phantom_readers/{seed,[0-9]+}"),
    log:
        "results/logs/train_readers/{seed}.log",
    threads: 2
    resources:
        mem_mb=6000,
        runtime=60,
    params:
        code=plan.code("train_readers"),
        settings=plan.params("train_readers"),
    message:
        "Training the phantom readers from seed {wildcards.seed}: minutes on two cores"
    script:
        "../scripts/stage.py"
