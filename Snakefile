# An included rule never becomes the default target, so the root has its own.
include: "workflow/Snakefile"


rule default:
    default_target: True
    input:
        rules.all.input,
