"""[[data]] and [fit] → `Data` from a CSV file, and the parameters that are wanted.

    [[data]]
    file = "cells.csv"
    of = "u"
    points = { x = "x_um", t = "t_h" }
    values = ["density_1", "density_2"]
    sigma = 0.1
    where = { initial_cells = 10000, t_h = [12, 48] }

    [fit]
    unknown = { D = [100, 3000], r = [0, 1] }

Columns are named, never computed; a number in the place of a column stands for all rows.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.inverse.data import Data
from pibls.io.document import Document, kind_of
from pibls.io.places import Path
from pibls.io.statements import Texts, check_count
from pibls.problem import Problem
from pibls.text import nearest

KEYS = ("file", "of", "points", "values", "sigma", "where")
FIT_KEYS = ("unknown", "loss", "tol", "starts")


@dataclass(frozen=True, eq=False)
class CsvTable:
    """The columns of a CSV file by name, and the line of the file on which each row ends."""

    path: FilePath
    columns: Mapping[str, Array]
    lines: Sequence[int]

    def column(self, name: str) -> Array:
        """A column of finite numbers."""
        if name not in self.columns:
            raise ProblemError(
                f"{self.path}: {name}",
                expected=f"one of the columns {', '.join(self.columns)}",
                got=f"no column {name!r}",
                remedy=nearest(name, self.columns) + "The first line of the file names the columns.",
            )
        column = self.columns[name]
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise ProblemError(
                f"{self.path}: {name}",
                expected="numbers",
                got=f"something else in {len(bad)} rows, the first of them line {self.lines[bad[0]]}",
                remedy="Leave rows without a measurement out.",
            )
        return column


@dataclass(frozen=True)
class DataEntry:
    """What one [[data]] says; nothing is read yet."""

    file: str | None
    expression: Any
    points: Mapping[Any, str | float]
    values: tuple[str, ...]
    sigma: str | float | None = None
    where: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Rows to be taken: column → the least and the largest value."""

    def load(self, folder: FilePath, file: FilePath | None = None) -> Data:
        """The data, from the file that is named, or from another one."""
        if file is None and self.file is None:
            raise ProblemError(
                "data", expected="a file", got="none", remedy='Write file = "…", or give --data FILE.'
            )
        path = folder / str(self.file) if file is None else file
        table = read_table(path)
        keep = np.ones(len(table.lines), dtype=bool)
        for name, (low, high) in self.where.items():
            column = table.column(name)
            keep &= (column >= low) & (column <= high)
        if not keep.any():
            raise ProblemError(
                str(path),
                expected="rows that meet where",
                got="none",
                remedy="Look at where, and at the columns it names.",
            )
        columns = [table.column(v)[keep] for v in self.values]
        points = {c: table.column(v)[keep] if isinstance(v, str) else v for c, v in self.points.items()}
        values = columns[0] if len(columns) == 1 else np.array(columns)
        sigma: Any = self.sigma
        if isinstance(sigma, str):
            sigma = np.broadcast_to(table.column(sigma)[keep], values.shape)
        return Data(self.expression, points, values, sigma=sigma)


@dataclass(frozen=True)
class FitWish:
    """What [fit] says: name → bounds, and settings of `pibls.fit`."""

    unknown: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def read_table(path: FilePath) -> CsvTable:
    """The columns of a CSV file with one line of names; lines without an entry are skipped."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            return _read(csv.reader(stream), path)
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        named = isinstance(problem, OSError)
        raise ProblemError(
            str(path),
            expected="a CSV file that can be read",
            got=getattr(problem, "strerror", None) or str(problem),
            remedy="Check the name." if named else "Save it as CSV, with commas, in UTF-8.",
        ) from None


def _read(reader: Any, path: FilePath) -> CsvTable:
    rows = (row for row in reader if any(row))
    names = [n.strip() for n in next(rows, [])]
    _check_names(names, path)
    # Eight bytes per number, whatever the length: a list of rows of text takes thirty times as much.
    columns = [array("d") for _ in names]
    lines = array("q")
    for row in rows:
        if len(row) != len(names):
            raise ProblemError(
                f"{path}, line {reader.line_num}",
                expected=f"{len(names)} values",
                got=f"{len(row)}",
                remedy="Each row has a value for each name of the first line.",
            )
        lines.append(reader.line_num)
        for column, text in zip(columns, row, strict=True):
            column.append(_number(text))
    if not lines:
        got = f"{len(names)} names and no numbers" if names else "no line"
        raise ProblemError(str(path), expected="a line of names, and numbers", got=got, remedy="Add them.")
    table = {name: np.array(column) for name, column in zip(names, columns, strict=True) if name}
    return CsvTable(path, table, lines)


def _check_names(names: Sequence[str], path: FilePath) -> None:
    """A column without a name can never be asked for; two columns of one name would be confused."""
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        if name and places.setdefault(name, place) != place:
            raise ProblemError(
                f"{path}, line of names",
                expected="a different name for each column",
                got=f"{name!r} for columns {places[name] + 1} and {place + 1}",
                remedy="Rename or remove one of them.",
            )


def _number(text: str) -> float:
    """A number; what is none is NaN, and is refused where its column is used."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def read_entries(doc: Document, texts: Texts, problem: Problem) -> tuple[DataEntry, ...]:
    """All [[data]] of a file."""
    entries = doc.values.get("data", [])
    if not isinstance(entries, list):
        raise doc.refusal(("data",), "a list of tables", kind_of(entries), "Write [[data]].")
    check_count(doc, ("data",), entries)
    return tuple(_entry(doc, texts, problem, ("data", i), e) for i, e in enumerate(entries))


def _entry(doc: Document, texts: Texts, problem: Problem, path: Path, given: Any) -> DataEntry:
    table = doc.table(path, given, KEYS)
    names = {str(c): c for c in problem.coordinates}
    of = (*path, "of")
    if "of" in table:
        expression = texts.scalar(of, table["of"])
    elif len(problem.unknowns) == 1:
        expression = problem.unknowns[0]
    else:
        raise doc.refusal(path, 'of = "…"', "none", "Several unknowns: say which one was measured.")
    found: dict[Any, str | float] = {c: name for name, c in names.items()}
    for name, where in doc.table((*path, "points"), table.get("points", {}), names).items():
        found[names[name]] = _column_or_number(doc, (*path, "points", name), where)
    values = table.get("values", str(getattr(expression, "func", "value")))
    listed = [values] if isinstance(values, str) else values
    if not isinstance(listed, list) or not listed or not all(isinstance(v, str) for v in listed):
        raise doc.refusal((*path, "values"), "the names of columns", kind_of(values), 'Write values = "u".')
    sigma = _column_or_number(doc, (*path, "sigma"), table["sigma"]) if "sigma" in table else None
    where = {
        name: _range(doc, (*path, "where", name), v)
        for name, v in doc.table((*path, "where"), table.get("where", {})).items()
    }
    file = table.get("file")
    return DataEntry(
        None if file is None else _file(doc, (*path, "file"), file),
        expression,
        found,
        tuple(listed),
        sigma,
        where,
    )


def _file(doc: Document, path: Path, value: Any) -> str:
    name = doc.string(path, value)
    if name.startswith(("/", "\\")) or ".." in name or ":" in name or len(name) > 200:
        remedy = "Write a name without .. and a leading /; --data takes any."
        raise doc.refusal(path, "a file name below the folder of this file", f"'{name[:64]}'", remedy)
    return name


def _column_or_number(doc: Document, path: Path, value: Any) -> str | float:
    if isinstance(value, str):
        return value
    return _plain(doc, path, value)


def _plain(doc: Document, path: Path, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise doc.refusal(path, "a number", kind_of(value), "Write a number, such as 0.5.")
    return float(value)


def _range(doc: Document, path: Path, value: Any) -> tuple[float, float]:
    """A value, or [least, largest]."""
    if isinstance(value, list):
        if len(value) != 2:
            raise doc.refusal(path, "[least, largest]", kind_of(value), "Write two numbers.")
        low, high = (_plain(doc, (*path, i), v) for i, v in enumerate(value))
        if not low < high:
            raise doc.refusal(path, "[least, largest]", f"[{low:g}, {high:g}]", "Write the lesser one first.")
        return low, high
    number = _plain(doc, path, value)
    return number, number


def read_fit(doc: Document) -> FitWish:
    """What [fit] says."""
    table = doc.table(("fit",), doc.values.get("fit", {}), FIT_KEYS)
    unknown = {
        name: _bounds(doc, ("fit", "unknown", name), v)
        for name, v in doc.table(("fit", "unknown"), table.get("unknown", {})).items()
    }
    settings: dict[str, Any] = {}
    if "loss" in table:
        settings["loss"] = doc.string(("fit", "loss"), table["loss"])
    if "tol" in table:
        settings["tol"] = _plain(doc, ("fit", "tol"), table["tol"])
    if "starts" in table:
        settings["starts"] = int(_plain(doc, ("fit", "starts"), table["starts"]))
    return FitWish(unknown, settings)


def _bounds(doc: Document, path: Path, value: Any) -> tuple[float, float]:
    if not isinstance(value, list):
        raise doc.refusal(path, "[low, high]", kind_of(value), "Write D = [100, 3000].")
    return _range(doc, path, value)


def entries_for(problem: Problem, columns: Sequence[str]) -> tuple[DataEntry, ...]:
    """Data whose columns are called like coordinates and unknowns; ``sigma_u`` is the noise of u."""
    points: dict[Any, str | float] = {c: str(c) for c in problem.coordinates}
    found = []
    for u in problem.unknowns:
        name = str(u.func)
        if name in columns:
            sigma = next((s for s in (f"sigma_{name}", "sigma") if s in columns), None)
            found.append(DataEntry(None, u, points, (name,), sigma))
    if not found:
        wanted = ", ".join(str(u.func) for u in problem.unknowns)
        raise ProblemError(
            "--data",
            expected=f"a column called like an unknown ({wanted}), or [[data]] in the problem file",
            got=f"the columns {', '.join(columns)}",
            remedy="Rename a column, or say in [[data]] which column is what.",
        )
    return tuple(found)
