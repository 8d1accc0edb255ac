"""CSV files: all rows are read, repeated names are rejected, and messages give the line of the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pibls.errors import ProblemError
from pibls.io.data_file import DataEntry, read_table


def write_csv(folder: Path, text: str) -> Path:
    file = folder / "measured.csv"
    file.write_text(text, encoding="utf-8")
    return file


def test_more_than_a_million_rows_are_read(tmp_path: Path) -> None:
    file = write_csv(tmp_path, "u\n" + "1\n" * 1_000_000 + "2\n")
    u = read_table(file).column("u")
    assert len(u) == 1_000_001
    assert u[-1] == 2.0


@pytest.mark.parametrize(("names", "which"), [("t,u,u", "2 and 3"), ("u, t ,x,t", "2 and 4")])
def test_repeated_column_name_is_rejected(tmp_path: Path, names: str, which: str) -> None:
    file = write_csv(tmp_path, f"{names}\n{','.join('1' * len(names.split(',')))}\n")
    with pytest.raises(ProblemError, match=f"a different name for each column, got '.' for columns {which}"):
        read_table(file)


def test_columns_without_a_name_are_ignored(tmp_path: Path) -> None:
    table = read_table(write_csv(tmp_path, "t,u,,\n1,2,,\n3,4,note,\n"))
    assert list(table.columns) == ["t", "u"]
    np.testing.assert_array_equal(table.column("u"), [2.0, 4.0])


def test_line_numbers_count_blank_lines(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="line 6: expected 2 values, got 3"):
        read_table(write_csv(tmp_path, "\nt,u\n1,2\n\n,\n1,2,3\n"))
    with pytest.raises(ProblemError, match="other values in 2 rows, first in line 5"):
        read_table(write_csv(tmp_path, "t,u\n\n1,2\n\n1,none\n2,\n")).column("u")
    with pytest.raises(ProblemError, match="first in line 4"):
        read_table(write_csv(tmp_path, 't,"u"\n1,"2"\n3,"two\nlines"\n')).column("u")


def test_other_encoding_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "latin.csv"
    file.write_bytes("t,größe\n1,2\n".encode("latin-1"))
    with pytest.raises(ProblemError, match=r"can't decode byte .* in UTF-8"):
        read_table(file)


def test_rows_are_selected_by_value_with_blank_lines(tmp_path: Path) -> None:
    import sympy as sp

    t = sp.Symbol("t")
    u = sp.Function("u")(t)
    write_csv(tmp_path, "t,u,dish\n\n1,2,6\n\n3,4,7\n")
    data = DataEntry("measured.csv", u, {t: "t"}, ("u",), where={"dish": (7.0, 7.0)}).load(tmp_path)
    np.testing.assert_array_equal(data.values, [4.0])
    np.testing.assert_array_equal(data.X, [[3.0]])
