"""The `steadyread` command. Each command is thin: the work is done in the rooms."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

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
