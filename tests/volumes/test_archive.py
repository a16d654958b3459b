"""Archives are unpacked into a folder of their own, and nothing leads out of it."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from steadyread.contracts.enums import Reason
from steadyread.contracts.problems import CaseProblem
from steadyread.volumes import archive
from steadyread.volumes.archive import opened

CONTENTS = {"patient/a.dcm": b"first", "patient/deep/b.dcm": b"second", "other/a.dcm": b"third"}


def make_tar(path: Path, mode: str) -> Path:
    with tarfile.open(path, mode) as tar:
        for name, content in CONTENTS.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def make_zip(path: Path, contents: dict[str, bytes] = CONTENTS) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in contents.items():
            file.writestr(name, content)
    return path


@pytest.mark.parametrize(
    ("suffix", "mode"), [(".tar", "w"), (".tar.gz", "w:gz"), (".tar.xz", "w:xz"), (".TGZ", "w:gz")]
)
def test_every_file_of_a_tar_is_there_and_gone_afterwards(tmp_path: Path, suffix: str, mode: str) -> None:
    with opened(make_tar(tmp_path / f"a{suffix}", mode)) as folder:
        assert sorted(item.read_bytes() for item in folder.iterdir()) == sorted(CONTENTS.values())
        assert not {item.name for item in folder.iterdir()} & {"a.dcm", "b.dcm", "patient"}
    assert not folder.exists()


def test_every_file_of_a_zip_is_there(tmp_path: Path) -> None:
    with opened(make_zip(tmp_path / "a.zip")) as folder:
        assert sorted(item.read_bytes() for item in folder.iterdir()) == sorted(CONTENTS.values())


def test_a_file_or_folder_is_opened_as_it_is(tmp_path: Path) -> None:
    for path in (tmp_path, make_tar(tmp_path / "scan.dcm", "w")):
        with opened(path) as same:
            assert same == path


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/etc/evil", "C:\\evil", "..\\evil"])
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    with (
        pytest.raises(CaseProblem, match="leads out") as caught,
        opened(make_zip(tmp_path / "a.zip", {"good": b"1", name: b"2"})),
    ):
        pass
    assert caught.value.reason is Reason.UNREADABLE
    assert "evil" not in caught.value.detail


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = kind, "/etc/passwd"
        tar.addfile(info)
    with pytest.raises(CaseProblem, match="link or a device"), opened(path):
        pass


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "SIZE_LIMIT", 10)
    with pytest.raises(CaseProblem, match="unpacks to more"), opened(make_zip(tmp_path / "a.zip")):
        pass


def test_an_archive_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "FILE_LIMIT", 2)
    with pytest.raises(CaseProblem, match="more than 2 files"), opened(make_zip(tmp_path / "a.zip")):
        pass


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tar.xz", "a.zip"])
def test_what_is_no_archive_is_unreadable(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"no archive at all" * 99)
    with pytest.raises(CaseProblem) as caught, opened(tmp_path / name):
        pass
    assert caught.value.reason is Reason.UNREADABLE


@pytest.mark.parametrize(("suffix", "mode"), [(".tar", "w"), (".tar.gz", "w:gz"), (".tar.xz", "w:xz")])
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.7])
def test_a_cut_archive_is_excluded(tmp_path: Path, suffix: str, mode: str, kept: float) -> None:
    path = make_tar(tmp_path / f"a{suffix}", mode)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * kept)] if suffix != ".tar" else whole[: int(3072 * kept)])
    with pytest.raises(CaseProblem) as caught, opened(path):
        pass
    assert caught.value.reason in (Reason.TRUNCATED_FILE, Reason.UNREADABLE)
    assert tmp_path.name not in caught.value.detail


def test_a_path_with_nothing_there_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CaseProblem) as caught, opened(tmp_path / "secret_name.tar"):
        pass
    assert caught.value.reason is Reason.MISSING_FILE
    assert "secret" not in caught.value.detail


def test_a_tar_cut_between_two_files_is_excluded(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "a.tar", "w")
    path.write_bytes(path.read_bytes()[: 2 * 1024])
    with pytest.raises(CaseProblem) as caught, opened(path):
        pass
    assert caught.value.reason is Reason.TRUNCATED_FILE
