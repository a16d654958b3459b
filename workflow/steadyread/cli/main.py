"""The `steadyread` command. Each command is thin: the work is done in the rooms."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from ..contracts.enums import Readout
from ..contracts.problems import StudyError

app = typer.Typer(
    help="Audits how far a medical vision-language model's reading can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def fail(error: Exception) -> typer.Exit:
    """Print what went wrong, without a traceback, and give the exit to raise."""
    typer.echo(f"steadyread: {error}", err=True)
    return typer.Exit(2)


@app.callback()
def main() -> None:
    """Audits how far a medical vision-language model's reading can be trusted."""


@app.command()
def replay(
    receipt: Annotated[Path, typer.Argument(help="A receipt, or the output it lies beside.")],
    study: Annotated[str | None, typer.Option(help="The study's name, where inputs lie outside the project.")] = None,
    keep: Annotated[Path | None, typer.Option(help="Keep the replayed outputs in this empty folder.")] = None,
) -> None:
    """Run the stage of one receipt again and say whether its outputs still hold.

    Exit code 0: identical, and the files on disk untouched. 1: something differs. 2: cannot be replayed.
    """
    from ..stages.receipts import read_receipt, receipt_path
    from ..stages.replay import replay_receipt

    file = receipt if receipt.name.endswith(".receipt.json") else receipt_path(receipt)
    if not file.is_file():
        known = "it has no receipt: steadyread did not make it" if receipt.exists() else "there is no such file"
        raise fail(StudyError(f"{receipt}: {known}"))
    try:
        local = _local(read_receipt(file), study)
        typer.echo(f"replaying stage {read_receipt(file)['stage']} …", err=True)
        with tempfile.TemporaryDirectory(prefix="steadyread-replay-") as temporary:
            found = replay_receipt(file, keep or Path(temporary), Path.cwd(), local)
    except (StudyError, ValueError) as error:
        raise fail(error) from error
    for note in found.notes:
        typer.echo(f"note: {note}")
    for fault in found.faults:
        typer.echo(f"FAULT: {fault}")
    for output in found.outputs:
        typer.echo(f"{output.path}: {_verdict(output.identical, output.untouched)}")
    raise typer.Exit(0 if found.holds else 1)


def _verdict(identical: bool, untouched: bool) -> str:
    if identical and untouched:
        return "identical"
    if identical:
        return "CHANGED: the replay gives what the receipt names, the file on disk is something else"
    if untouched:
        return "DIFFERS: the file on disk is what the receipt names, the replay gives something else"
    return "DIFFERS: neither the replay nor the file on disk is what the receipt names"


def _local(receipt: dict[str, object], study: str | None) -> dict[str, str]:
    """Where a stage's things lie on this machine, from the study's configuration."""
    from ..config.loading import load_study
    from ..stages.registry import stage
    from ..stages.settings import local_of

    name = str(receipt["stage"])
    wildcards = receipt["wildcards"]
    assert isinstance(wildcards, dict)
    if not stage(name).local:
        return {}
    named = study or str(wildcards.get("study", "default")).partition("-limit")[0]
    loaded, models = load_study({"study": named})
    return local_of(name, loaded, models)


@app.command()
def doctor() -> None:
    """Say what is installed, what is missing, and what to do about it."""
    from .doctor import examine

    findings = examine(Path.cwd())
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        typer.echo(f"{finding.state.value:8} {finding.what:{width}}  {finding.found}")
        if finding.advice:
            typer.echo(f"{'':8} {'':{width}}  → {finding.advice}")
    raise typer.Exit(1 if any(finding.state.value == "missing" for finding in findings) else 0)


@app.command()
def compare(
    model: Annotated[str, typer.Argument(help="The model.")],
    reference: Annotated[str, typer.Argument(help="What it is compared with.")],
    study: Annotated[str, typer.Option(help="The study, or <study>-limitN.")] = "default",
    readout: Annotated[Readout, typer.Option(help="How decisions are read.")] = Readout.TEXT,
    metric: Annotated[list[str] | None, typer.Option(help="Only this metric; may be given several times.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every metric, not the headline ones alone.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write every difference, all readouts and columns, here.")] = None,
) -> None:
    """Compare two models on the same patients: MODEL minus REFERENCE, with intervals.

    The study must have asked both; they need not stand in statistics.comparisons.
    """
    from .compare import check_target, compare_models, metrics_named, report

    try:
        if csv is not None:
            check_target(csv)
        metrics = metrics_named(metric or ())
        pair = compare_models(model, reference, study, Path.cwd())
        for line in report(pair, readout, metrics, every):
            typer.echo(line)
        if csv is not None:
            csv.write_text(pair.csv(), encoding="utf-8", newline="\n")
            typer.echo(f"every difference: {csv}")
    except (StudyError, ValueError, OSError) as error:
        raise fail(error) from error


@app.command()
def power(
    difference: Annotated[float | None, typer.Option(help="Patients needed for so many points.")] = None,
    patients: Annotated[int | None, typer.Option(help="What so many patients can show.")] = None,
    precision: Annotated[float | None, typer.Option(help="Patients for an interval of ± so many points.")] = None,
    study: Annotated[str | None, typer.Option(help="What this study had the power to detect.")] = None,
    discordance: Annotated[float, typer.Option(help="Share of cases whose two outcomes differ.")] = 0.2,
    share: Annotated[float, typer.Option(help="The share an interval is around.")] = 0.5,
    icc: Annotated[float, typer.Option(help="Intra-class correlation within the patient.")] = 0.3,
    cases: Annotated[float, typer.Option(help="Cases per patient.")] = 2,
    wanted: Annotated[float, typer.Option("--power", help="Power.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="Level of the two-sided test.")] = 0.05,
    readout: Annotated[Readout, typer.Option(help="With --study: how decisions are read.")] = Readout.TEXT,
) -> None:
    """Say how many patients a difference or an interval needs, or what can be found with those there are.

    Give one of --difference, --precision, --patients and --study.
    """
    from ..statistics.power import Design
    from .power import for_difference, for_patients, for_precision, for_study

    asked = {"difference": difference, "precision": precision, "patients": patients, "study": study}
    given = [f"--{name}" for name, value in asked.items() if value is not None]
    try:
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise StudyError(f"found {found}, expected one of --difference, --precision, --patients and --study")
        design = Design(cases, icc, 1 - alpha, wanted)
        if study is not None:
            lines = for_study(study, readout, Path.cwd())
        elif difference is not None:
            lines = for_difference(difference, discordance, design)
        elif precision is not None:
            lines = for_precision(precision, share, design)
        else:
            assert patients is not None
            lines = for_patients(patients, discordance, share, design)
        for line in lines:
            typer.echo(line)
    except (StudyError, ValueError) as error:
        raise fail(error) from error


@app.command("fetch-models")
def fetch_models(
    models: Annotated[list[str], typer.Argument(help="Ids from config/models.yaml.")],
) -> None:
    """Fetch hub models and pin them: writes revision and weight digests into config/models.lock.yaml.

    Run it where the hub can be reached (a login node); jobs then run offline.
    """
    from ..config.loading import load_models
    from ..config.models_lock import LOCK_FILE
    from ..inference.fetch import fetch_model

    root = Path.cwd()
    try:
        table = load_models(root)
        for name in models:
            fetch_model(table.by_id(name), root / LOCK_FILE)
            typer.echo(f"{name}: fetched and pinned")
    except (StudyError, KeyError) as error:
        raise fail(error) from error


if __name__ == "__main__":
    app()
