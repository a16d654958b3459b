"""Between a rule's script and the dispatcher: unpacks what Snakemake hands over."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from ..contracts.problems import StudyError


def run_rule(snakemake: Any) -> None:
    """Run the stage of the rule that called the script.

    The log goes to the rule's log file and to standard error. A StudyError ends the job with its
    message alone; anything else with its traceback.
    """
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    if snakemake.log:
        Path(str(snakemake.log[0])).parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(str(snakemake.log[0]), mode="w"))
    logging.basicConfig(
        level=logging.WARNING,
        format=f"%(asctime)s {snakemake.rule}: %(message)s",
        datefmt="%H:%M:%S",
        handlers=handlers,
    )
    logging.getLogger("steadyread").setLevel(logging.INFO)
    logging.captureWarnings(True)
    warnings.simplefilter("default")
    # pydicom quotes header values in what it says, and a header value may name a patient.
    logging.getLogger("pydicom").setLevel(logging.CRITICAL + 1)
    warnings.filterwarnings("ignore", module="pydicom")
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(snakemake.threads)
    from .dispatch import run_stage
    from .plan import LOCAL

    try:
        run_stage(
            snakemake.rule,
            inputs={name: _files(value) for name, value in snakemake.input.items()},
            outputs={name: str(value) for name, value in snakemake.output.items()},
            settings=snakemake.params.settings,
            wildcards=dict(snakemake.wildcards.items()),
            local=snakemake.config.get(LOCAL, {}).get(snakemake.rule, {}),
        )
    except StudyError as error:
        logging.getLogger("steadyread").error("%s", error)
        raise SystemExit(1) from error
    except Exception:
        logging.getLogger("steadyread").exception("the stage failed")
        raise


def _files(value: Any) -> str | list[str]:
    return str(value) if isinstance(value, str) else [str(item) for item in value]
