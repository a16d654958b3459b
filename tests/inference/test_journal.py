"""What was answered once is known for good, whatever happens to the writer."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat

import pytest

from steadyread.contracts.enums import FinishReason
from steadyread.contracts.problems import StudyError
from steadyread.inference.backend import Answer
from steadyread.inference.journal import Journal, read_answers, store_root

ANSWER = Answer("A", FinishReason.STOP, 3, None, (-0.1, -2.4000000000000004, -1e-9), 0.25, 12, 1, (64, 64))


def test_an_answer_comes_back_exactly_as_it_was(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append([("k", ANSWER)])
        assert journal.get("k") == ANSWER
    with Journal(tmp_path) as journal:
        assert journal.get("k") == ANSWER
        assert journal.get("other") is None


def test_a_torn_last_line_is_ignored_by_readers_and_cut_off_by_its_writer(tmp_path):
    with Journal(tmp_path, "w") as journal:
        journal.append([("a", ANSWER), ("b", ANSWER)])
    path = tmp_path / "w.jsonl"
    whole = path.read_bytes()
    for kept in (len(whole) - 1, len(whole) // 2 + 5, 3):
        path.write_bytes(whole[:kept])
        known = [key for key, _ in read_answers(tmp_path)]
        assert known == ["a", "b"][: whole[:kept].count(b"\n")]
        with Journal(tmp_path, "w") as journal:
            journal.append([("c", ANSWER)])
        assert [key for key, _ in read_answers(tmp_path)] == [*known, "c"]


def test_a_damaged_line_is_never_served(tmp_path):
    with Journal(tmp_path, "w") as journal:
        journal.append([("a", ANSWER), ("b", ANSWER)])
    path = tmp_path / "w.jsonl"
    first, second = path.read_text().splitlines()
    changed = first.replace('"text":"A"', '"text":"B"')
    assert changed != first
    assert json.loads(changed)["answer"]["text"] == "B"
    path.write_text(f"{changed}\nnot json\n[]\n{second}\n")
    assert [key for key, _ in read_answers(tmp_path)] == ["b"]


def test_failures_are_not_remembered(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append([("k", Answer.failed("out of memory"))])
        assert journal.get("k") is None
    assert list(tmp_path.iterdir()) == []


def test_two_writers_of_one_file_are_refused_and_two_files_are_read_together(tmp_path):
    with Journal(tmp_path, "w") as first, Journal(tmp_path, "w") as second, Journal(tmp_path) as third:
        first.append([("a", ANSWER)])
        with pytest.raises(StudyError, match="another process"):
            second.append([("b", ANSWER)])
        third.append([("c", ANSWER)])
    assert {key for key, _ in read_answers(tmp_path)} == {"a", "c"}


def _write_and_die(folder):
    journal = Journal(folder)
    journal.append([("kept", ANSWER)])
    os._exit(9)


def test_a_killed_writer_loses_nothing_that_was_appended(tmp_path):
    process = multiprocessing.get_context("fork").Process(target=_write_and_die, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == 9
    assert dict(read_answers(tmp_path)) == {"kept": ANSWER}


def test_the_store_is_where_the_variable_says_and_obeys_the_umask(tmp_path, monkeypatch):
    monkeypatch.setenv("STEADYREAD_STORE", str(tmp_path / "store"))
    assert store_root() == tmp_path / "store"
    before = os.umask(0o027)
    try:
        with Journal(store_root() / "requests" / "m") as journal:
            journal.append([("k", ANSWER)])
    finally:
        os.umask(before)
    (file,) = store_root().rglob("*.jsonl")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o750


def test_without_the_variable_the_store_is_in_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.delenv("STEADYREAD_STORE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert store_root() == tmp_path / "steadyread"


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), float("inf")])
def test_numbers_that_json_lacks_come_back_and_block_nobody(tmp_path, value):
    odd = Answer("A", FinishReason.STOP, 3, None, (value, -0.1, 0.0), 0.25, 12, 1, (64, 64))
    with Journal(tmp_path, "w") as journal:
        journal.append([("k", odd)])
    ((_, found),) = read_answers(tmp_path)
    assert repr(found) == repr(odd)


def test_a_store_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with Journal(tmp_path / "file" / "requests") as journal, pytest.raises(StudyError, match="STEADYREAD_STORE"):
        journal.append([("k", ANSWER)])


def test_a_folder_named_like_a_journal_file_harms_nobody(tmp_path):
    (tmp_path / "x.jsonl").mkdir()
    assert list(read_answers(tmp_path)) == []
