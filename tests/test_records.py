"""Objects as records: nested pieces with many arrays, shared arrays, refusals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pibls.arrays import Array
from pibls.basis import JoinedBasis, RandomFourierBasis
from pibls.errors import ProblemError
from pibls.io.container import read_container, write_container
from pibls.io.field_codecs import NATURAL, REAL, TEXT, FloatArray, Nested, Nullable, TupleOf
from pibls.io.record import Record
from pibls.io.saved_classes import REGISTRY
from pibls.io.serialization import Reader, RecordType, TypeRegistry, Writer
from tests.call_counts import count_calls


@dataclass(frozen=True)
class Window:
    """What a solution may soon be made of."""

    start: float
    name: str | None
    count: int
    bases: tuple[RandomFourierBasis, ...]
    weights: tuple[Array, ...]


@dataclass(frozen=True)
class Windows:
    parts: tuple[Window, ...]


TABLE = TypeRegistry(
    [
        *REGISTRY.record_types,
        RecordType(
            "window",
            Window,
            "window",
            {
                "start": REAL,
                "name": Nullable(TEXT),
                "count": NATURAL,
                "bases": TupleOf(Nested("basis")),
                "weights": TupleOf(FloatArray("n")),
            },
        ),
        RecordType("windows", Windows, "field", {"parts": TupleOf(Nested("window"))}),
    ]
)


def to_record(
    value: Any, role: str, table: TypeRegistry, *, argument: str = "value"
) -> tuple[dict[str, Any], list[Array]]:
    """The record of an object, and its arrays."""
    writer = Writer(table, argument)
    return writer.write_object(value, role), writer.arrays


def from_record(
    values: Any,
    arrays: Sequence[Array],
    role: str,
    table: TypeRegistry,
    *,
    dimension: int,
    file: str = "file",
) -> Any:
    """The object of a record; raises a `ProblemError` that names the file where it makes no sense."""
    reader = Reader(table, arrays, dimension)
    made = reader.read_object(Record(file, role, values), role)
    reader.finish(file)
    return made


def field(windows: int, cells: int, rng: np.random.Generator) -> Windows:
    """Bases drawn anew in every cell of every window, boxes shared."""
    centre, half = np.zeros(2), np.ones(2)
    parts = []
    for i in range(windows):
        bases = tuple(RandomFourierBasis(rng.standard_normal((2, 20)), centre, half) for _ in range(cells))
        weights = tuple(rng.standard_normal(40) for _ in bases)
        parts.append(Window(0.1 * i, None if i % 2 else f"window {i}", i, bases, weights))
    return Windows(tuple(parts))


def through_a_file(made: Any, role: str, path: Path) -> Any:
    record, arrays = to_record(made, role, TABLE)
    write_container(path, {"field": record}, arrays, "save")
    found = read_container(path)
    return from_record(found.header.values["field"], found.arrays, role, TABLE, dimension=2, file=str(path))


def test_a_thousand_windows_are_saved_and_loaded_quickly(tmp_path: Path) -> None:
    made = field(1000, 3, np.random.default_rng(0))
    path = tmp_path / "field.pibls"
    few = count_calls(lambda: through_a_file(field(250, 3, np.random.default_rng(0)), "field", path))
    assert count_calls(lambda: through_a_file(made, "field", path)) < 4.2 * few
    assert few < 250 * 700
    again = through_a_file(made, "field", path)
    assert len(again.parts) == 1000
    for a, b in zip(made.parts[::97], again.parts[::97], strict=True):
        assert (a.start, a.name, a.count) == (b.start, b.name, b.count)
        for p, q in zip(a.bases, b.bases, strict=True):
            assert np.array_equal(p.frequencies, q.frequencies)
        assert all(np.array_equal(v, w) for v, w in zip(a.weights, b.weights, strict=True))


def test_shared_arrays_are_kept_once_and_shared_again(tmp_path: Path) -> None:
    made = field(5, 2, np.random.default_rng(1))
    _, arrays = to_record(made, "field", TABLE)
    assert len(arrays) == 2 + 5 * 2 * 2
    again = through_a_file(made, "field", tmp_path / "field.pibls")
    assert len({id(b.centre) for w in again.parts for b in w.bases}) == 1


def test_memory_orders_and_axes_are_kept(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    cube = rng.standard_normal((3, 4, 5))
    arrays = [cube, np.asfortranarray(cube), cube.T, cube[::2], np.empty((0, 3)), np.asfortranarray(cube[0])]
    write_container(tmp_path / "a.pibls", {}, arrays, "save")
    found = read_container(tmp_path / "a.pibls").arrays
    for a, b in zip(arrays, found, strict=True):
        assert np.array_equal(a, b)
        if a.flags.forc and a.size:
            assert a.flags.f_contiguous == b.flags.f_contiguous


def test_what_is_not_in_the_table_is_refused() -> None:
    class Own(JoinedBasis):
        """A subclass may do something else with the same arrays."""

    wave = RandomFourierBasis(np.ones((2, 3)), np.zeros(2), np.ones(2))
    with pytest.raises(ProblemError, match="expected a basis of pibls, got an object of class Own"):
        to_record(Own((wave,)), "basis", REGISTRY)
    with pytest.raises(
        ProblemError, match="expected a window of pibls, got an object of class RandomFourierBasis"
    ):
        to_record(wave, "window", TABLE)
    with pytest.raises(ProblemError, match="arrays of float64 with one to 4 axes, got int64"):
        to_record(RandomFourierBasis(np.ones((2, 3), dtype=int), np.zeros(2), np.ones(2)), "basis", REGISTRY)
    record, arrays = to_record(wave, "basis", REGISTRY)
    with pytest.raises(ProblemError, match="kind: one of windows, got waves"):
        from_record(record, arrays, "field", TABLE, dimension=2)
    with pytest.raises(ProblemError, match=r"frequencies: an array \(1, any\), got \(2, 3\)"):
        from_record(record, arrays, "basis", REGISTRY, dimension=1)
    with pytest.raises(ProblemError, match="only arrays that are used, got 1 unused"):
        from_record(record, [*arrays, np.ones(1)], "basis", REGISTRY, dimension=2)


def test_lengths_that_must_agree_are_compared() -> None:
    window = field(1, 2, np.random.default_rng(3)).parts[0]
    record, arrays = to_record(window, "window", TABLE)
    arrays[record["weights"][1]] = np.ones(7)
    with pytest.raises(ProblemError, match=r"window, weights\[2\]: an array \(40\), got \(7,\)"):
        from_record(json.loads(json.dumps(record)), arrays, "window", TABLE, dimension=2)


def test_bases_too_deep_inside_each_other_are_not_written() -> None:
    basis: Any = RandomFourierBasis(np.ones((1, 3)), np.zeros(1), np.ones(1))
    for _ in range(16):
        basis = JoinedBasis((basis,))
    with pytest.raises(ProblemError, match="objects nested at most 16 deep"):
        to_record(basis, "basis", REGISTRY)
