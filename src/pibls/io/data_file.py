"""Measured data: the sections [[data]] and [fit] of a problem file, and CSV files.

    [[data]]
    file = "cells.csv"
    of = "u"
    points = { x = "x_um", t = "t_h" }
    values = ["density_1", "density_2"]
    sigma = 0.1
    where = { initial_cells = 10000, t_h = [12, 48] }

    [fit]
    unknown = { D = [100, 3000], r = [0, 1] }

Columns are referred to by name; a number in place of a column applies to all rows.
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
import numpy.typing as npt

from pibls.arrays import Array
from pibls.errors import ProblemError, failure_reason
from pibls.expressions import Coordinate, Expression
from pibls.inverse.data import Data
from pibls.io.offsets import KeyPath
from pibls.io.statements import ExpressionReader, check_entry_count
from pibls.io.toml_document import Document, TomlValue, describe
from pibls.problem import Problem
from pibls.text import did_you_mean

KEYS = ("file", "of", "points", "values", "sigma", "where")
FIT_KEYS = ("unknown", "loss", "tol", "starts")


@dataclass(frozen=True, eq=False)
class CsvTable:
    """Columns of a CSV file by name, and for each row the line of the file on which it ends."""

    path: FilePath
    columns: Mapping[str, Array]
    lines: Sequence[int]

    def column(self, name: str) -> Array:
        """Return a column; raises `ProblemError` unless all its values are finite numbers."""
        if name not in self.columns:
            raise ProblemError(
                f"{self.path}: {name}",
                expected=f"one of the columns {', '.join(self.columns)}",
                got=f"no column {name!r}",
                remedy=did_you_mean(name, self.columns)
                + "The first line of the file must contain the names.",
            )
        column = self.columns[name]
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise ProblemError(
                f"{self.path}: {name}",
                expected="numbers",
                got=f"other values in {len(bad)} rows, first in line {self.lines[bad[0]]}",
                remedy="Remove rows without a measurement.",
            )
        return column


@dataclass(frozen=True)
class DataEntry:
    """One entry of [[data]]; the CSV file is read by `load`."""

    file: str | None
    expression: Expression
    points: Mapping[Coordinate, str | float]
    values: tuple[str, ...]
    sigma: str | float | None = None
    where: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Filter of rows: column → minimum and maximum value."""

    def load(self, folder: FilePath, file: FilePath | None = None) -> Data:
        """Read the data from the file of the entry, or from ``file`` if it is given."""
        if file is None and self.file is None:
            raise ProblemError(
                "data", expected="a file", got="none", remedy='Write file = "…", or use --data FILE.'
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
                expected="rows that satisfy where",
                got="none",
                remedy="Check where and the columns it names.",
            )
        columns = [table.column(v)[keep] for v in self.values]
        points = {c: table.column(v)[keep] if isinstance(v, str) else v for c, v in self.points.items()}
        values = columns[0] if len(columns) == 1 else np.array(columns)
        sigma: npt.ArrayLike | None = self.sigma
        if isinstance(self.sigma, str):
            sigma = np.broadcast_to(table.column(self.sigma)[keep], values.shape)
        return Data(self.expression, points, values, sigma=sigma)


@dataclass(frozen=True)
class FitSettings:
    """The section [fit]: parameter → bounds, and settings of `pibls.fit`."""

    unknown: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def read_table(path: FilePath) -> CsvTable:
    """Read a CSV file with one header line; empty lines are skipped."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            return _read(csv.reader(stream), path)
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        named = isinstance(problem, OSError)
        raise ProblemError(
            str(path),
            expected="a CSV file that can be read",
            got=failure_reason(problem),
            remedy="Check the path." if named else "Save it as comma-separated text in UTF-8.",
        ) from None


def _read(reader: Any, path: FilePath) -> CsvTable:
    rows = (row for row in reader if any(row))
    names = [n.strip() for n in next(rows, [])]
    _check_names(names, path)
    # Eight bytes per number; a list of rows of text takes thirty times as much memory.
    columns = [array("d") for _ in names]
    lines = array("q")
    for row in rows:
        if len(row) != len(names):
            raise ProblemError(
                f"{path}, line {reader.line_num}",
                expected=f"{len(names)} values",
                got=f"{len(row)}",
                remedy="Write a value for each name of the first line.",
            )
        lines.append(reader.line_num)
        for column, text in zip(columns, row, strict=True):
            column.append(_parse_float(text))
    if not lines:
        got = f"{len(names)} names and no numbers" if names else "an empty file"
        raise ProblemError(
            str(path), expected="a line of names, followed by lines of numbers", got=got, remedy="Add them."
        )
    table = {name: np.array(column) for name, column in zip(names, columns, strict=True) if name}
    return CsvTable(path, table, lines)


def _check_names(names: Sequence[str], path: FilePath) -> None:
    """Check that column names are unique; a column without a name is ignored."""
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        if name and places.setdefault(name, place) != place:
            raise ProblemError(
                f"{path}, header line",
                expected="a different name for each column",
                got=f"{name!r} for columns {places[name] + 1} and {place + 1}",
                remedy="Rename or remove one of them.",
            )


def _parse_float(text: str) -> float:
    """Parse a number; other text gives NaN, which is an error if the column is used."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def read_entries(doc: Document, reader: ExpressionReader, problem: Problem) -> tuple[DataEntry, ...]:
    """Read all entries of [[data]]."""
    entries = doc.values.get("data", [])
    if not isinstance(entries, list):
        raise doc.error_at(("data",), "a list of tables", describe(entries), "Write [[data]].")
    check_entry_count(doc, ("data",), entries)
    return tuple(_entry(doc, reader, problem, ("data", i), e) for i, e in enumerate(entries))


def _measured_expression(
    reader: ExpressionReader, problem: Problem, path: KeyPath, table: Mapping[str, TomlValue]
) -> Expression:
    if "of" in table:
        return reader.scalar((*path, "of"), table["of"])
    if len(problem.unknowns) == 1:
        return problem.unknowns[0]
    raise reader.doc.error_at(path, 'of = "…"', "none", "Write which of the unknowns was measured.")


def _entry(
    doc: Document, reader: ExpressionReader, problem: Problem, path: KeyPath, given: TomlValue
) -> DataEntry:
    table = doc.table(path, given, KEYS)
    names = {str(c): c for c in problem.coordinates}
    expression = _measured_expression(reader, problem, path, table)
    found: dict[Coordinate, str | float] = {c: name for name, c in names.items()}
    for name, where in doc.table((*path, "points"), table.get("points", {}), names).items():
        found[names[name]] = _column_or_number(doc, (*path, "points", name), where)
    values = table.get("values", str(expression.func))
    listed = [values] if isinstance(values, str) else values
    columns = [v for v in listed if isinstance(v, str)] if isinstance(listed, list) else []
    if not isinstance(listed, list) or not listed or len(columns) < len(listed):
        raise doc.error_at((*path, "values"), "the names of columns", describe(values), 'Write values = "u".')
    sigma = _column_or_number(doc, (*path, "sigma"), table["sigma"]) if "sigma" in table else None
    intervals = {
        name: _interval(doc, (*path, "where", name), v)
        for name, v in doc.table((*path, "where"), table.get("where", {})).items()
    }
    file = table.get("file")
    return DataEntry(
        None if file is None else _file(doc, (*path, "file"), file),
        expression,
        found,
        tuple(columns),
        sigma,
        intervals,
    )


def _file(doc: Document, path: KeyPath, value: TomlValue) -> str:
    name = doc.string(path, value)
    if name.startswith(("/", "\\")) or ".." in name or ":" in name or len(name) > 200:
        remedy = "Write a name without .. and a leading /; --data accepts any path."
        raise doc.error_at(path, "a path inside the folder of this file", f"'{name[:64]}'", remedy)
    return name


def _column_or_number(doc: Document, path: KeyPath, value: TomlValue) -> str | float:
    if isinstance(value, str):
        return value
    return _number(doc, path, value)


def _number(doc: Document, path: KeyPath, value: TomlValue) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise doc.error_at(path, "a number", describe(value), "Write a number, such as 0.5.")
    return float(value)


def _interval(doc: Document, path: KeyPath, value: TomlValue) -> tuple[float, float]:
    """Read a value, or [minimum, maximum]."""
    if isinstance(value, list):
        if len(value) != 2:
            raise doc.error_at(path, "[minimum, maximum]", describe(value), "Write two numbers.")
        low, high = (_number(doc, (*path, i), v) for i, v in enumerate(value))
        if not low < high:
            raise doc.error_at(
                path, "[minimum, maximum]", f"[{low:g}, {high:g}]", "Write the smaller one first."
            )
        return low, high
    number = _number(doc, path, value)
    return number, number


def read_fit(doc: Document) -> FitSettings:
    """Read the section [fit]."""
    table = doc.table(("fit",), doc.values.get("fit", {}), FIT_KEYS)
    unknown = {
        name: _bounds(doc, ("fit", "unknown", name), v)
        for name, v in doc.table(("fit", "unknown"), table.get("unknown", {})).items()
    }
    settings: dict[str, Any] = {}
    if "loss" in table:
        settings["loss"] = doc.string(("fit", "loss"), table["loss"])
    if "tol" in table:
        settings["tol"] = _number(doc, ("fit", "tol"), table["tol"])
    if "starts" in table:
        settings["starts"] = int(_number(doc, ("fit", "starts"), table["starts"]))
    return FitSettings(unknown, settings)


def _bounds(doc: Document, path: KeyPath, value: TomlValue) -> tuple[float, float]:
    if not isinstance(value, list):
        raise doc.error_at(path, "[low, high]", describe(value), "Write D = [100, 3000].")
    return _interval(doc, path, value)


def entries_from_columns(problem: Problem, columns: Sequence[str]) -> tuple[DataEntry, ...]:
    """Return entries for columns named like coordinates and unknowns; ``sigma_u`` is the noise of u."""
    points: dict[Coordinate, str | float] = {c: str(c) for c in problem.coordinates}
    found = []
    for u in problem.unknowns:
        name = str(u.func)
        if name in columns:
            sigma = next((s for s in (f"sigma_{name}", "sigma") if s in columns), None)
            found.append(DataEntry(None, u, points, (name,), sigma))
    if not found:
        names_of_unknowns = ", ".join(str(u.func) for u in problem.unknowns)
        raise ProblemError(
            "--data",
            expected=f"a column named like an unknown ({names_of_unknowns}), or [[data]] in the problem file",
            got=f"the columns {', '.join(columns)}",
            remedy="Rename a column, or assign the columns in [[data]].",
        )
    return tuple(found)
