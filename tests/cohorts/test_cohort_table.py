"""A cohort's table: what is not understood stops the study and says where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from steadyread.cohorts.table_adapter import CaseRow, read_cohort_table
from steadyread.contracts.enums import AnnotationKind, Deidentified
from steadyread.contracts.problems import StudyError

LABELS = ("GBM", "MET")
Reader = Callable[..., list[CaseRow]]


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    def read_text(text: str, encoding: str = "utf-8") -> list[CaseRow]:
        path = tmp_path / "cohort.tsv"
        path.write_bytes(text.replace("|", "\t").encode(encoding))
        return read_cohort_table(path, LABELS)

    return read_text


def refusal(read: Reader, text: str) -> str:
    with pytest.raises(StudyError) as caught:
        read(text)
    return str(caught.value)


def test_a_full_row_is_read_as_it_stands(read: Reader) -> None:
    (row,) = read(
        "case_id|patient_id|volume|label|site|sequence|annotation|annotation_kind|split|lesion_labels|deidentified"
        "|cov_age|cov_sex|text_report\n"
        "c1|p1|a.nii|gbm |north|T2|m.nii|mask|test|1,4|yes|63||No, really.\n"
    )
    assert row == CaseRow(
        row=2,
        case_id="c1",
        patient_id="p1",
        volume="a.nii",
        annotation="m.nii",
        annotation_kind=AnnotationKind.MASK,
        label="GBM",
        site="north",
        sequence="T2",
        split="test",
        deidentified=Deidentified.YES,
        options={"lesion_labels": "1,4"},
        covariates={"age": "63"},
        texts={"report": "No, really."},
    )


def test_labels_may_be_unknown(read: Reader) -> None:
    assert [row.label for row in read("case_id|patient_id|volume|label\na|p|v|\nb|p|v|met\n")] == [None, "MET"]
    assert [row.label for row in read("case_id|patient_id|volume\na|p|v\n")] == [None]


def test_a_spreadsheets_byte_order_mark_line_ends_and_quotes_do_no_harm(read: Reader) -> None:
    (row,) = read('\ufeffcase_id|patient_id|volume|text_report\r\na|p|v|"two\nlines, ""quoted"""\r\n\r\n')
    assert row.texts["report"] == 'two\nlines, "quoted"'


@pytest.mark.parametrize("column", ["text_report", "site"])
def test_a_quotation_mark_that_swallows_rows_is_refused(read: Reader, column: str) -> None:
    message = refusal(read, f'case_id|patient_id|volume|{column}\na|p|v|"x\nb|p|v|says ok"\nc|p|v|y\n')
    assert "quotation mark" in message and "row 3" in message


def test_a_misspelled_column_is_named_with_what_is_allowed(read: Reader) -> None:
    message = refusal(read, "case_id|patient_id|volume|anotation\na|p|v|m\n")
    assert "'anotation'" in message and "did you mean 'annotation'" in message and "lesion_labels" in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("case_id|patient_id|volume\n", "no case"),
        ("case_id|patient_id\na|p\n", "lacks the columns ['volume']"),
        ("case_id|patient_id|volume|volume\na|p|v|w\n", "stand twice: ['volume']"),
        ("case_id,patient_id,volume\na,p,v\n", "parted by commas"),
        ("case_id|patient_id|volume\na|p|v\nb|p\n", "row 3"),
        ("case_id|patient_id|volume\na|p|v\nb|p|v|w\n", "row 3"),
        ('case_id|patient_id|volume\na|p|"v\n', "TSV"),
        ("case_id|patient_id|volume\na|p|v\nb|p|v\na|q|w\n", "rows 2, 4"),
        ("case_id|patient_id|volume\n../a|p|v\nb|p|v\n|p|v\n", "case_id, rows 2, 4"),
        ("case_id|patient_id|volume\na|Doe, Jane|v\n", "patient_id, row 2"),
        ("case_id|patient_id|volume|label\na|p|v|GBM\nb|p|v|glioma\n", "label, row 3: allowed are ['GBM', 'MET']"),
        ("case_id|patient_id|volume|label\na|p|v|unsure\n", "leave an unknown label empty"),
        ("case_id|patient_id|volume|annotation_kind\na|p|v|rtstruct\n", "'slice_table'"),
        ("case_id|patient_id|volume|deidentified\na|p|v|perhaps\n", "'attested'"),
        ("case_id|patient_id|volume|lesion_labels\na|p|v|1;2\n", "row 2: lesion_labels must be integers"),
        ("case_id|patient_id|volume|lesion_labels\na|p|v|0,1\n", "background"),
        ("case_id|patient_id|volume|index_base\na|p|v|2\n", "0 or 1"),
        ("case_id|patient_id|volume|index_order\na|p|v|up\n", "feet_to_head"),
        ("case_id|patient_id|volume|cov_\na|p|v|2\n", "'cov_'"),
    ],
)
def test_a_wrong_table_is_refused_with_its_rows(read: Reader, text: str, said: str) -> None:
    assert said in refusal(read, text)


def test_refusals_quote_nothing_that_may_be_a_name(read: Reader) -> None:
    for column in ("label", "patient_id", "annotation_kind", "deidentified", "lesion_labels", "index_order"):
        names = ["case_id", "patient_id", "volume", *([] if column == "patient_id" else [column])]
        cells = {"case_id": "a", "patient_id": "p", "volume": "v", column: "Doe, Jane"}
        text = "|".join(names) + "\n" + "|".join(cells[name] for name in names) + "\n"
        assert "Doe" not in refusal(read, text)


def test_a_table_in_another_encoding_is_refused(read: Reader) -> None:
    with pytest.raises(StudyError, match="UTF-8"):
        read("case_id|patient_id|volume|site\na|p|v|Köln\n", "latin-1")
