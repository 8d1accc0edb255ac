"""The classes that a solution file may hold: one line each, and a check where parts must fit together."""

from __future__ import annotations

from math import prod

import numpy as np

from pibls.basis import BroadBasis, FeatureBasis, JoinedBasis, WaveBasis
from pibls.basis.activation import ACTIVATIONS
from pibls.basis.layer import Layer
from pibls.io.entries import Entry, Numbers, Part, Several, Whole, Word
from pibls.io.records import Kind, Table
from pibls.space import DecomposedBasis

ACTIVATION = Word(ACTIVATIONS, "an activation")


def _fits(basis: BroadBasis, d: int) -> str | None:
    given = len(basis.inner)
    return None if given == basis.features.size else f"{given} rows for {basis.features.size} features"


def _is_grid(basis: DecomposedBasis, d: int) -> str | None:
    counts = [len(e) - 1 for e in basis.edges]
    if len(counts) != d or min(counts) < 1 or prod(counts) != len(basis.parts):
        return f"{len(basis.parts)} parts, not one for each cell of a grid in {d} dimension(s)"
    return None if all(np.all(np.diff(e) > 0) for e in basis.edges) else "edges that do not ascend"


_LAYER: dict[str, Entry] = {"weights": Numbers("d n"), "biases": Numbers("n"), "activation": ACTIVATION}
_BROAD: dict[str, Entry] = {
    "features": Part("layer"),
    "inner": Numbers("n m"),
    "offsets": Numbers("m"),
    "outer": ACTIVATION,
}
_CELLS: dict[str, Entry] = {
    "edges": Several(Numbers("*")),
    "parts": Several(Part("basis")),
    "on_interface": Whole(),
}
_BOX: dict[str, Entry] = {"centre": Numbers("d"), "half": Numbers("d")}

KNOWN = Table(
    [
        Kind("waves", WaveBasis, "basis", {"frequencies": Numbers("d n"), **_BOX}),
        Kind("features", FeatureBasis, "basis", {"layer": Part("layer")}),
        Kind("broad", BroadBasis, "basis", _BROAD, _fits),
        Kind("joined", JoinedBasis, "basis", {"parts": Several(Part("basis"))}),
        Kind("decomposed", DecomposedBasis, "basis", _CELLS, _is_grid),
        Kind("layer", Layer, "layer", {**_LAYER, **_BOX}),
    ]
)
