"""Serialization of objects as records: nested objects with many arrays, shared arrays, invalid input."""

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
    """A record with all kinds of fields."""

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
    """Return the record of an object and its arrays."""
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
    """Return the object of a record; raise a `ProblemError` that names the file if it is invalid."""
    reader = Reader(table, arrays, dimension)
    result = reader.read_object(Record(file, role, values), role)
    reader.finish(file)
    return result


def field(windows: int, cells: int, rng: np.random.Generator) -> Windows:
    """Return windows with one random basis per cell; the arrays of the boxes are shared."""
    centre, half = np.zeros(2), np.ones(2)
    parts = []
    for i in range(windows):
        bases = tuple(RandomFourierBasis(rng.standard_normal((2, 20)), centre, half) for _ in range(cells))
        weights = tuple(rng.standard_normal(40) for _ in bases)
        parts.append(Window(0.1 * i, None if i % 2 else f"window {i}", i, bases, weights))
    return Windows(tuple(parts))


def round_trip(value: Any, role: str, path: Path) -> Any:
    record, arrays = to_record(value, role, TABLE)
    write_container(path, {"field": record}, arrays, "save")
    found = read_container(path)
    return from_record(found.header.values["field"], found.arrays, role, TABLE, dimension=2, file=str(path))


def test_cost_of_saving_is_linear_in_the_number_of_windows(tmp_path: Path) -> None:
    value = field(1000, 3, np.random.default_rng(0))
    path = tmp_path / "field.pibls"
    few = count_calls(lambda: round_trip(field(250, 3, np.random.default_rng(0)), "field", path))
    assert count_calls(lambda: round_trip(value, "field", path)) < 4.2 * few
    assert few < 250 * 700
    loaded = round_trip(value, "field", path)
    assert len(loaded.parts) == 1000
    for a, b in zip(value.parts[::97], loaded.parts[::97], strict=True):
        assert (a.start, a.name, a.count) == (b.start, b.name, b.count)
        for p, q in zip(a.bases, b.bases, strict=True):
            assert np.array_equal(p.frequencies, q.frequencies)
        assert all(np.array_equal(v, w) for v, w in zip(a.weights, b.weights, strict=True))


def test_shared_arrays_are_stored_once_and_shared_after_loading(tmp_path: Path) -> None:
    value = field(5, 2, np.random.default_rng(1))
    _, arrays = to_record(value, "field", TABLE)
    assert len(arrays) == 2 + 5 * 2 * 2
    loaded = round_trip(value, "field", tmp_path / "field.pibls")
    assert len({id(b.centre) for w in loaded.parts for b in w.bases}) == 1


def test_memory_order_and_shape_are_kept(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    cube = rng.standard_normal((3, 4, 5))
    arrays = [cube, np.asfortranarray(cube), cube.T, cube[::2], np.empty((0, 3)), np.asfortranarray(cube[0])]
    write_container(tmp_path / "a.pibls", {}, arrays, "save")
    found = read_container(tmp_path / "a.pibls").arrays
    for a, b in zip(arrays, found, strict=True):
        assert np.array_equal(a, b)
        if a.flags.forc and a.size:
            assert a.flags.f_contiguous == b.flags.f_contiguous


def test_unregistered_classes_and_invalid_records_are_rejected() -> None:
    class Subclass(JoinedBasis):
        """A subclass may use the same arrays in another way."""

    basis = RandomFourierBasis(np.ones((2, 3)), np.zeros(2), np.ones(2))
    with pytest.raises(ProblemError, match="expected a basis of pibls, got an object of class Subclass"):
        to_record(Subclass((basis,)), "basis", REGISTRY)
    with pytest.raises(
        ProblemError, match="expected a window of pibls, got an object of class RandomFourierBasis"
    ):
        to_record(basis, "window", TABLE)
    with pytest.raises(ProblemError, match="arrays of float64 with one to 4 axes, got int64"):
        to_record(RandomFourierBasis(np.ones((2, 3), dtype=int), np.zeros(2), np.ones(2)), "basis", REGISTRY)
    record, arrays = to_record(basis, "basis", REGISTRY)
    with pytest.raises(ProblemError, match="kind: one of windows, got waves"):
        from_record(record, arrays, "field", TABLE, dimension=2)
    with pytest.raises(ProblemError, match=r"frequencies: an array \(1, any\), got \(2, 3\)"):
        from_record(record, arrays, "basis", REGISTRY, dimension=1)
    with pytest.raises(ProblemError, match="only arrays that are used, got 1 unused"):
        from_record(record, [*arrays, np.ones(1)], "basis", REGISTRY, dimension=2)


def test_inconsistent_array_lengths_are_rejected() -> None:
    window = field(1, 2, np.random.default_rng(3)).parts[0]
    record, arrays = to_record(window, "window", TABLE)
    arrays[record["weights"][1]] = np.ones(7)
    with pytest.raises(ProblemError, match=r"window, weights\[2\]: an array \(40\), got \(7,\)"):
        from_record(json.loads(json.dumps(record)), arrays, "window", TABLE, dimension=2)


def test_deeply_nested_bases_are_rejected() -> None:
    basis: Any = RandomFourierBasis(np.ones((1, 3)), np.zeros(1), np.ones(1))
    for _ in range(16):
        basis = JoinedBasis((basis,))
    with pytest.raises(ProblemError, match="objects nested at most 16 deep"):
        to_record(basis, "basis", REGISTRY)
