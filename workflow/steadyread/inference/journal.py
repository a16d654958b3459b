"""The journal: every answer a model ever gave, kept outside the workflow and consulted before asking.

`$STEADYREAD_STORE/requests/<model>/<writer>.jsonl`, one JSON object a line, one file per writer. It is
no rule's output (Snakemake deletes the outputs of a killed job), and no database (network file
systems). A line counts only once it is whole: a torn last line is cut off, a damaged one ignored.
Failures are never journaled: they may be asked again.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from platformdirs import user_cache_path

from ..contracts.enums import FinishReason
from ..contracts.problems import StudyError
from ..identity.digests import canonical_json, digest_bytes, restored
from .backend import Answer

_LOG = logging.getLogger("steadyread.inference")
_VERSION = 1


def store_root() -> Path:
    """The store: $STEADYREAD_STORE, by default in the user's cache folder."""
    named = os.environ.get("STEADYREAD_STORE")
    return Path(named) if named else user_cache_path("steadyread")


def journal_folder(model_id: str, root: Path | None = None) -> Path:
    """Where the answers of a model lie."""
    return (store_root() if root is None else root) / "requests" / model_id


class Journal:
    """The answers of one model by request key, and a writer for new ones.

    Use as a context manager. The writer's file appears with the first answer.
    """

    def __init__(self, folder: Path, writer: str | None = None) -> None:
        self._folder = folder
        self._name = f"{uuid.uuid4().hex if writer is None else writer}.jsonl"
        self._stream: IO[bytes] | None = None
        self._answers = dict(read_answers(folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the writer's file and give up its lock."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def get(self, key: str) -> Answer | None:
        """The answer to a request, or None."""
        return self._answers.get(key)

    def append(self, answers: Iterable[tuple[str, Answer]]) -> None:
        """Add (request key, answer) pairs: on disk when this returns. Failures are left out.

        Raises
        ------
        StudyError
            If another process writes the same file.
        """
        kept = [(key, answer) for key, answer in answers if answer.finish_reason is not FinishReason.ERROR]
        if not kept:
            return
        if self._stream is None:
            self._stream = _open_locked(self._folder / self._name)
        self._stream.write(b"".join(_line(key, answer) for key, answer in kept))
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._answers.update(kept)


def read_answers(folder: Path) -> Iterator[tuple[str, Answer]]:
    """All whole and undamaged answers of a model, file by file."""
    damaged = 0
    for path in sorted(item for item in folder.glob("*.jsonl") if item.is_file()):
        content = path.read_bytes()
        # What stands after the last line end was being written when its writer died.
        for line in content[: content.rfind(b"\n") + 1].splitlines():
            record = _parsed(line)
            if record is None:
                damaged += 1
            else:
                yield record
    if damaged:
        _LOG.warning("%d damaged journal lines are ignored; their requests are asked again", damaged)


def _line(key: str, answer: Answer) -> bytes:
    record = {"v": _VERSION, "key": key, "answer": answer.to_plain()}
    return canonical_json({**record, "check": _check(record)}) + b"\n"


def _check(record: Mapping[str, Any]) -> str:
    return digest_bytes(canonical_json(record))


def _parsed(line: bytes) -> tuple[str, Answer] | None:
    try:
        record = json.loads(line)
        check = record.pop("check")
        if record["v"] != _VERSION or check != _check(record):
            return None
        return str(record["key"]), Answer.from_plain(restored(record["answer"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _open_locked(path: Path) -> IO[bytes]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = open(path, "a+b")  # noqa: SIM115 - kept open: it holds the lock
    except OSError as error:
        raise StudyError(
            f"the journal of answers cannot be written ({error.strerror}): set STEADYREAD_STORE to a folder that you "
            "can write"
        ) from error
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.close()
        raise StudyError(
            f"journal file {path.name} is being written by another process; give each writer its own name"
        ) from error
    except OSError:
        # A file system without locks: names are unique, so this only loses the second guard.
        _LOG.info("the file system of the store offers no locks")
    stream.seek(0)
    content = stream.read()
    stream.truncate(content.rfind(b"\n") + 1)
    return stream
