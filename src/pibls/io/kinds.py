"""The classes that a solution file may hold: one line each, and a check where parts must fit together."""

from __future__ import annotations

from typing import Any

import numpy as np

from pibls.adaptive.budget import Progress
from pibls.adaptive.validation.estimate import ErrorEstimate
from pibls.basis import (
    AnnularBasis,
    BroadBasis,
    ChebyshevBasis,
    DegreeBasis,
    EvolvingBasis,
    ExponentialBasis,
    FeatureBasis,
    JoinedBasis,
    MirroredBasis,
    PolarBasis,
    PowersBasis,
    ProductBasis,
    SingularBasis,
    WaveBasis,
)
from pibls.basis.activation import ACTIVATIONS
from pibls.basis.layer import Layer
from pibls.io.entries import (
    FLAG,
    NATURAL,
    REAL,
    Entry,
    Floats,
    Maybe,
    Nested,
    NestedTuple,
    Numbers,
    Several,
    Word,
)
from pibls.io.records import Kind, Table
from pibls.io.trees import Divisions, is_tree
from pibls.spaces import Cells, CellTree, Lattice, Pieces, Summed, Whole, Windows

ACTIVATION = Word(ACTIVATIONS, "an activation")


def _fits(basis: BroadBasis, d: int) -> str | None:
    given = len(basis.inner)
    return None if given == basis.features.size else f"{given} rows for {basis.features.size} features"


def _is_line(basis: ChebyshevBasis, d: int) -> str | None:
    return None if d == 1 and basis.size > 0 else f"{basis.size} polynomials in {d} coordinates"


_MOST = 1 << 20  # functions of one product: more are no file of ours
_ORDERS, _DEPTH = 1000, 8  # the same for functions around a hole


def _are_products(basis: ProductBasis, d: int) -> str | None:
    if len(basis.sizes) != d or not 0 < basis.size <= _MOST or min(basis.sizes) < 1:
        return f"{basis.sizes} factors along {d} coordinates"
    if any(a >= d or basis.sizes[a] % 2 == 0 for a in basis.repeated):
        return f"waves along {basis.repeated}"
    return None if np.all(basis.half > 0) else "cells without a size"


def _is_of_degree(basis: DegreeBasis, d: int) -> str | None:
    good = 0 <= basis.degree <= _ORDERS and 0 < basis.size <= _MOST and bool(np.all(basis.half > 0))
    return None if good else f"polynomials of the degree {basis.degree} in {d} coordinates"


def _evolves(basis: EvolvingBasis, d: int) -> str | None:
    good = d > 1 and 0 < basis.moments <= _ORDERS and basis.half[0] > 0 and _word(basis.space) != "evolving"
    return None if good else f"{basis.moments} polynomials in time, {d} coordinates"


def _is_annular(basis: AnnularBasis, d: int) -> str | None:
    if basis.form.shape not in ((4,), (6,)):
        return f"functions around a hole of {basis.form.tolist()}"
    length, orders, depth, rate = basis.form[:4].tolist()
    whole = orders == int(orders) and depth == int(depth)
    good = d == 2 and whole and length > 0 and 1 <= orders <= _ORDERS and 0 <= depth <= _DEPTH
    return None if good and (not rate or not depth) else f"functions around a hole of {basis.form.tolist()}"


def _is_singular(basis: SingularBasis, d: int) -> str | None:
    good = basis.frame.shape in ((2,), (4,), (7,)) and bool(np.all(basis.frame[3:4] > 0))
    if good and len(basis.frame) > 4:
        good = not len(basis.end) and bool(
            np.all(basis.terms[:, 0] >= 0) and np.all(basis.terms[:, 0] <= _ORDERS)
        )
    return None if good else f"a corner with {basis.frame.tolist()}"


def _are_powers(basis: PowersBasis, d: int) -> str | None:
    if d != 2 or basis.weights.shape[0] != 2 or not bool(np.all(basis.frames[:, [1, 3]] > 0)):
        return f"a corner with {basis.frames.tolist()}"
    roots, whole = basis.terms[:, 0], basis.terms[:, [0, 3, 4]]
    good = bool(np.all(whole == np.round(whole)) and np.all(whole >= 0) and np.all(whole[:, 1:] <= _ORDERS))
    return None if good and bool(np.all(roots < len(basis.frames))) else "powers that are none"


def _is_polar(basis: PolarBasis, d: int) -> str | None:
    whole = basis.terms[:, 1:]
    good = bool(np.all(whole == np.round(whole)) and np.all(whole >= 0) and np.all(whole <= _ORDERS))
    return None if d == 2 and good and bool(np.all(basis.frame[1:] > 0)) else "powers that are none"


def unknowns_of(space: Any) -> int:
    """For how many unknowns a space is."""
    if _word(space) == "sum":
        each = {unknowns_of(part) for part in space.parts}
        return each.pop() if len(each) == 1 else 0
    while space.in_time or space.cells:
        space = space.parts[0]
    return space.unknowns if space.whole is None else len(space.whole.bases)


def _is_mirrored(basis: MirroredBasis, d: int) -> str | None:
    k = len(basis.centre)
    if _word(basis.waves) != "waves" or k not in (2, 3) or not d - 1 <= k <= d:
        return f"a mirror in {k} coordinates of {d}"
    return None if basis.radius[0] > 0 else "a mirror without a radius"


def _are_pieces(space: Pieces, d: int) -> str | None:
    if not space.count or len(space.all.bases) % space.count:
        return f"{len(space.all.bases)} bases for {space.count} pieces"
    return None


def _are_cells(space: Cells, d: int) -> str | None:
    if len(space.tree) != len(space.parts):
        return f"{len(space.parts)} parts for {len(space.tree)} cells"
    return _alike(space.parts, "whole")


def _is_lattice(space: Lattice, d: int) -> str | None:
    if not len(space.edges) == len(space.sizes) == d:
        return f"{len(space.edges)} axes with {len(space.sizes)} sizes in {d} dimensions"
    edges = [np.array(e) for e in space.edges]
    if not all(len(e) > 1 and np.isfinite(e).all() and np.all(np.diff(e) > 0) for e in edges):
        return "edges that do not ascend"
    if space.unknowns < 1 or min(space.sizes) < 1:
        return "no functions"
    return None


def _are_windows(space: Windows, d: int) -> str | None:
    edges = np.array(space.edges)
    if len(edges) != len(space.parts) + 1 or space.axis >= d:
        return f"{len(space.parts)} parts and {len(edges)} edges along coordinate {space.axis + 1} of {d}"
    if not (np.isfinite(edges).all() and np.all(np.diff(edges) > 0)):
        return "edges that do not ascend"
    return _alike(space.parts, "whole", "cells")


def _word(thing: Any) -> str:
    return KNOWN.by_class[type(thing)].word


def _alike(parts: tuple[Any, ...], *kinds: str) -> str | None:
    if not all(_word(p) in kinds for p in parts):
        return "parts of another kind"
    return None if len({unknowns_of(p) for p in parts}) == 1 else "parts for different unknowns"


_LAYER: dict[str, Entry] = {"weights": Numbers("d n"), "biases": Numbers("n"), "activation": ACTIVATION}
_BROAD: dict[str, Entry] = {
    "features": Nested("layer"),
    "inner": Numbers("n m"),
    "offsets": Numbers("m"),
    "outer": ACTIVATION,
}
_BOX: dict[str, Entry] = {"centre": Numbers("d"), "half": Numbers("d")}
_SINGULAR: dict[str, Entry] = {
    "point": Numbers("d"),
    "frame": Numbers("*"),
    "end": Numbers("*"),
    "terms": Numbers("n 4"),
}
_POWERS: dict[str, Entry] = {
    "point": Numbers("d"),
    "frames": Numbers("r 4"),
    "terms": Numbers("n 5"),
    "weights": Numbers("t n m"),
}
_POLAR: dict[str, Entry] = {"point": Numbers("d"), "frame": Numbers("3"), "terms": Numbers("n 3")}
_MIRRORED: dict[str, Entry] = {"waves": Nested("basis"), "centre": Numbers("k"), "radius": Numbers("1")}
_EXPONENTIAL: dict[str, Entry] = {
    "growths": Numbers("d n"),
    "turns": Numbers("d n"),
    "offsets": Numbers("n"),
    "phases": Numbers("n"),
}
_EVOLVING: dict[str, Entry] = {
    "space": Nested("basis", in_space=True),
    "moments": NATURAL,
    "centre": Numbers("1"),
    "half": Numbers("1"),
}
_PARTS: dict[str, Entry] = {"parts": Several(Nested("space"))}
_ESTIMATE: dict[str, Entry] = {
    "max": REAL,
    "l2": REAL,
    "checked": FLAG,
    "each": Several(Nested("estimate"), least=0),
    "history": Floats("n 2"),
}
_PROGRESS: dict[str, Entry] = {
    "nodes": NATURAL,
    "residual": REAL,
    "error": Maybe(REAL),
    "seconds": REAL,
    "t": Maybe(REAL),
    "windows": NATURAL,
    "cells": NATURAL,
    "expected": Maybe(REAL),
}

KNOWN = Table(
    [
        Kind("whole", Whole, "space", {"bases": NestedTuple("basis")}),
        Kind("cells", Cells, "space", {"tree": Nested("tree"), **_PARTS}, _are_cells),
        Kind("windows", Windows, "space", {"axis": NATURAL, "edges": Floats("*"), **_PARTS}, _are_windows),
        Kind("sum", Summed, "space", _PARTS),
        Kind(
            "lattice",
            Lattice,
            "space",
            {"edges": Several(Floats("*")), "sizes": Several(NATURAL), "unknowns": NATURAL},
            _is_lattice,
        ),
        Kind("pieces", Pieces, "space", {"count": NATURAL, "all": Nested("space")}, _are_pieces),
        Kind("tree", CellTree, "tree", {"box": Floats("d 2"), "root": Divisions()}, is_tree),
        Kind("waves", WaveBasis, "basis", {"frequencies": Numbers("d n"), **_BOX}),
        Kind("features", FeatureBasis, "basis", {"layer": Nested("layer")}),
        Kind("broad", BroadBasis, "basis", _BROAD, _fits),
        Kind("chebyshev", ChebyshevBasis, "basis", {"size": NATURAL, **_BOX}, _is_line),
        Kind("singular", SingularBasis, "basis", _SINGULAR, _is_singular),
        Kind("powers", PowersBasis, "basis", _POWERS, _are_powers),
        Kind("polar", PolarBasis, "basis", _POLAR, _is_polar),
        Kind("annular", AnnularBasis, "basis", {"centre": Numbers("2"), "form": Numbers("*")}, _is_annular),
        Kind("exponential", ExponentialBasis, "basis", _EXPONENTIAL),
        Kind("mirrored", MirroredBasis, "basis", _MIRRORED, _is_mirrored),
        Kind("degrees", DegreeBasis, "basis", {"degree": NATURAL, **_BOX}, _is_of_degree),
        Kind("evolving", EvolvingBasis, "basis", _EVOLVING, _evolves),
        Kind("joined", JoinedBasis, "basis", {"parts": Several(Nested("basis"))}),
        Kind(
            "products",
            ProductBasis,
            "basis",
            {"sizes": Several(NATURAL), "repeated": Several(NATURAL, least=0), **_BOX},
            _are_products,
        ),
        Kind("layer", Layer, "layer", {**_LAYER, **_BOX}),
        Kind("estimate", ErrorEstimate, "estimate", _ESTIMATE),
        Kind("progress", Progress, "progress", _PROGRESS),
    ]
)
