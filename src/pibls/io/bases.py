"""Drawn bases ↔ a description in plain words and a list of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.basis import Basis, BroadBasis, FeatureBasis, JoinedBasis, WaveBasis
from pibls.basis.activation import ACTIVATIONS, Activation
from pibls.basis.layer import Layer
from pibls.errors import ProblemError
from pibls.io.record import Record, damaged
from pibls.space import DecomposedBasis

_MAX_DEPTH = 8
"""Bases inside each other."""


def activation_name(activation: Any) -> str | None:
    """The word for an activation of pibls; None for one of the user's own."""
    for name, known in ACTIVATIONS.items():
        # Those without settings are all alike; sine and cosine differ by theirs.
        if type(activation) is type(known) and vars(activation) == vars(known):
            return name
    return None


class Describer:
    """Takes a basis apart: plain words, and numbers that stand for arrays."""

    def __init__(self, argument: str) -> None:
        self.arrays: list[Array] = []
        self._argument = argument

    def array(self, values: Any) -> int:
        """Keep an array; its number."""
        kept = np.asarray(values)
        if kept.dtype != np.float64 or not 1 <= kept.ndim <= 2:
            raise self._refusal("arrays of float64 with one or two axes", f"{kept.dtype}, shape {kept.shape}")
        self.arrays.append(kept)
        return len(self.arrays) - 1

    def basis(self, basis: Any, depth: int = 0) -> dict[str, Any]:
        """The description of a basis."""
        if depth == _MAX_DEPTH:
            raise self._refusal(f"at most {_MAX_DEPTH} bases inside each other", "more")
        # Exactly these classes: a subclass may do something else with the same arrays.
        kind = type(basis)
        if kind is WaveBasis:
            return {"kind": "waves", **self._arrays(basis, "frequencies", "centre", "half")}
        if kind is FeatureBasis:
            return {"kind": "features", "layer": self._layer(basis.layer)}
        if kind is BroadBasis:
            arrays = self._arrays(basis, "inner", "offsets")
            outer = self._activation(basis.outer)
            return {"kind": "broad", "layer": self._layer(basis.features), **arrays, "outer": outer}
        if kind is JoinedBasis:
            return {"kind": "joined", "parts": [self.basis(p, depth + 1) for p in basis.parts]}
        if kind is DecomposedBasis:
            return {
                "kind": "decomposed",
                "edges": [self.array(e) for e in basis.edges],
                "parts": [self.basis(p, depth + 1) for p in basis.parts],
                "on_interface": int(basis.on_interface),
            }
        raise self._refusal("a basis of pibls", f"one of the class {kind.__name__}")

    def _layer(self, layer: Layer) -> dict[str, Any]:
        word = self._activation(layer.activation)
        return {"activation": word, **self._arrays(layer, "weights", "biases", "centre", "half")}

    def _arrays(self, owner: Any, *names: str) -> dict[str, int]:
        return {name: self.array(getattr(owner, name)) for name in names}

    def _activation(self, activation: Activation) -> str:
        name = activation_name(activation)
        if name is None:
            got = f"one of the class {type(activation).__name__}"
            raise self._refusal(f"an activation of pibls ({', '.join(ACTIVATIONS)})", got)
        return name

    def _refusal(self, expected: str, got: str) -> ProblemError:
        return ProblemError(
            self._argument,
            expected=expected,
            got=got,
            remedy="A file holds no code, so a class of your own cannot be saved: save the values, "
            "with solution.to_csv(path) or solution.to_xarray().",
        )


class Builder:
    """Puts a basis together again; every array is used exactly once, and has the shape that it must have."""

    def __init__(self, file: str, arrays: Sequence[Array], dimension: int) -> None:
        self._file = file
        self._left: dict[int, Array] = dict(enumerate(arrays))
        self._dimension = dimension

    def finish(self) -> None:
        """Raise if arrays are left over."""
        if self._left:
            raise damaged(self._file, "a use for every array", f"{len(self._left)} without")

    def array(self, record: Record, key: str, shape: tuple[int | None, ...]) -> Array:
        """The array of that number; None is any length."""
        number = record.whole(key)
        if number not in self._left:
            raise record.refusal(key, "the number of an array that nothing else uses")
        found = self._left.pop(number)
        if len(found.shape) != len(shape) or any(
            wanted not in (None, n) for n, wanted in zip(found.shape, shape, strict=True)
        ):
            words = ", ".join("any" if n is None else str(n) for n in shape)
            raise damaged(self._file, f"{record.name}, {key}: an array ({words})", f"{found.shape}")
        return found

    def basis(self, record: Record, depth: int = 0) -> Basis:
        """The basis of a description."""
        if depth == _MAX_DEPTH:
            raise damaged(self._file, f"at most {_MAX_DEPTH} bases inside each other", "more")
        kind, d = record.text("kind"), self._dimension
        if kind == "waves":
            frequencies = self.array(record, "frequencies", (d, None))
            return WaveBasis(
                frequencies, self.array(record, "centre", (d,)), self.array(record, "half", (d,))
            )
        if kind == "features":
            return FeatureBasis(self._layer(record.record("layer")))
        if kind == "broad":
            layer = self._layer(record.record("layer"))
            inner = self.array(record, "inner", (layer.size, None))
            offsets = self.array(record, "offsets", (inner.shape[1],))
            return BroadBasis(layer, inner, offsets, _activation(record, "outer"))
        if kind == "joined":
            return JoinedBasis(self._parts(record, depth))
        if kind == "decomposed":
            return self._decomposed(record, depth)
        raise record.refusal("kind", "waves, features, broad, joined or decomposed")

    def _layer(self, record: Record) -> Layer:
        d = self._dimension
        weights = self.array(record, "weights", (d, None))
        biases = self.array(record, "biases", (weights.shape[1],))
        activation = _activation(record, "activation")
        centre, half = (self.array(record, key, (d,)) for key in ("centre", "half"))
        return Layer(weights, biases, activation, centre, half)

    def _parts(self, record: Record, depth: int) -> tuple[Basis, ...]:
        parts = tuple(self.basis(part, depth + 1) for part in record.records("parts"))
        if not parts:
            raise record.refusal("parts", "at least one")
        return parts

    def _decomposed(self, record: Record, depth: int) -> DecomposedBasis:
        numbers = record.entries("edges")
        edges = tuple(self.array(Record(self._file, "edges", {"edge": n}), "edge", (None,)) for n in numbers)
        parts = self._parts(record, depth)
        counts = [len(e) - 1 for e in edges]
        if len(edges) != self._dimension or min(counts) < 1 or prod(counts) != len(parts):
            raise record.refusal("parts", f"one for each cell of a grid in {self._dimension} dimension(s)")
        if not all(np.all(np.diff(e) > 0) for e in edges):
            raise record.refusal("edges", "ascending numbers")
        return DecomposedBasis(edges, parts, record.whole("on_interface"))


def _activation(record: Record, key: str) -> Activation:
    name = record.text(key)
    if name not in ACTIVATIONS:
        raise record.refusal(key, f"one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]
