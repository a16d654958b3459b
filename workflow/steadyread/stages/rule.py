"""Between a rule's script and the dispatcher: unpacks what Snakemake hands over."""

from __future__ import annotations

import logging
import os
import re
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

from ..contracts.problems import StudyError

_PATH = re.compile(r"""(['"])/[^'"]*\1|(?<![\w.])/\S+""")
"""An absolute path, quoted (it may hold spaces) or bare."""


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
        force=True,
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
    except Exception as error:
        # The message of an unforeseen error may quote a path, and a path may name a patient.
        frames = "".join(traceback.format_tb(error.__traceback__))
        said = _PATH.sub("…", str(error))
        logging.getLogger("steadyread").error("the stage failed: %s: %s\n%s", type(error).__name__, said, frames)
        raise SystemExit(1) from None


def _files(value: Any) -> str | list[str]:
    return str(value) if isinstance(value, str) else [str(item) for item in value]
