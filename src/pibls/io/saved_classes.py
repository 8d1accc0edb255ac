"""The classes that a solution file may contain, with consistency checks of their contents."""

from __future__ import annotations

from typing import Any

import numpy as np

from pibls.adaptive.budget import Progress
from pibls.adaptive.validation.estimate import ErrorEstimate
from pibls.basis import (
    AnnularBasis,
    BroadBasis,
    ChebyshevBasis,
    ExponentialBasis,
    FeatureBasis,
    JoinedBasis,
    MirroredBasis,
    PolarBasis,
    PowersBasis,
    ProductBasis,
    RandomFourierBasis,
    SingularBasis,
    SpaceTimeBasis,
    TotalDegreeBasis,
)
from pibls.basis.activation import ACTIVATIONS
from pibls.basis.layer import Layer
from pibls.io.cell_tree_codec import CellTreeCodec, check_tree
from pibls.io.field_codecs import (
    FLAG,
    NATURAL,
    REAL,
    FieldCodec,
    FloatArray,
    FloatTuple,
    NamedObject,
    Nested,
    Nullable,
    SharedTuple,
    TupleOf,
)
from pibls.io.serialization import RecordType, TypeRegistry
from pibls.spaces import (
    CellSpace,
    CellTree,
    SingleDomainSpace,
    SubdomainSpace,
    SumSpace,
    TensorGridSpace,
    TimeWindows,
)

ACTIVATION = NamedObject(ACTIVATIONS, "an activation")


def _check_broad(basis: BroadBasis, d: int) -> str | None:
    given = len(basis.inner)
    return None if given == basis.features.size else f"{given} rows for {basis.features.size} features"


def _check_chebyshev(basis: ChebyshevBasis, d: int) -> str | None:
    return None if d == 1 and basis.size > 0 else f"{basis.size} polynomials in {d} coordinates"


_MAX_FUNCTIONS = 1 << 20  # of a basis; larger numbers indicate a damaged file
_MAX_ORDER, _MAX_DEPTH_AROUND_HOLE = 1000, 8  # of polynomials, and of functions around a hole


def _check_products(basis: ProductBasis, d: int) -> str | None:
    if len(basis.sizes) != d or not 0 < basis.size <= _MAX_FUNCTIONS or min(basis.sizes) < 1:
        return f"{basis.sizes} factors along {d} coordinates"
    if any(a >= d or basis.sizes[a] % 2 == 0 for a in basis.periodic_axes):
        return f"trigonometric functions along {basis.periodic_axes}"
    return None if np.all(basis.half > 0) else "cells of zero size"


def _check_degree(basis: TotalDegreeBasis, d: int) -> str | None:
    is_valid = (
        0 <= basis.degree <= _MAX_ORDER and 0 < basis.size <= _MAX_FUNCTIONS and bool(np.all(basis.half > 0))
    )
    return None if is_valid else f"polynomials of degree {basis.degree} in {d} coordinates"


def _check_evolving(basis: SpaceTimeBasis, d: int) -> str | None:
    is_valid = (
        d > 1
        and 0 < basis.time_functions <= _MAX_ORDER
        and basis.half[0] > 0
        and _type_name(basis.space) != "evolving"
    )
    return None if is_valid else f"{basis.time_functions} polynomials in time, {d} coordinates"


def _check_annular(basis: AnnularBasis, d: int) -> str | None:
    if basis.form.shape not in ((4,), (6,)):
        return f"functions around a hole of {basis.form.tolist()}"
    length, orders, depth, rate = basis.form[:4].tolist()
    whole = orders == int(orders) and depth == int(depth)
    is_valid = (
        d == 2 and whole and length > 0 and 1 <= orders <= _MAX_ORDER and 0 <= depth <= _MAX_DEPTH_AROUND_HOLE
    )
    return (
        None if is_valid and (not rate or not depth) else f"functions around a hole of {basis.form.tolist()}"
    )


def _check_singular(basis: SingularBasis, d: int) -> str | None:
    is_valid = basis.frame.shape in ((2,), (4,), (7,)) and bool(np.all(basis.frame[3:4] > 0))
    if is_valid and len(basis.frame) > 4:
        is_valid = not len(basis.end) and bool(
            np.all(basis.terms[:, 0] >= 0) and np.all(basis.terms[:, 0] <= _MAX_ORDER)
        )
    return None if is_valid else f"a corner with {basis.frame.tolist()}"


def _check_powers(basis: PowersBasis, d: int) -> str | None:
    if d != 2 or basis.weights.shape[0] != 2 or not bool(np.all(basis.frames[:, [1, 3]] > 0)):
        return f"a corner with {basis.frames.tolist()}"
    roots, whole = basis.terms[:, 0], basis.terms[:, [0, 3, 4]]
    is_valid = bool(
        np.all(whole == np.round(whole)) and np.all(whole >= 0) and np.all(whole[:, 1:] <= _MAX_ORDER)
    )
    return None if is_valid and bool(np.all(roots < len(basis.frames))) else "invalid exponents"


def _check_polar(basis: PolarBasis, d: int) -> str | None:
    whole = basis.terms[:, 1:]
    is_valid = bool(np.all(whole == np.round(whole)) and np.all(whole >= 0) and np.all(whole <= _MAX_ORDER))
    return None if d == 2 and is_valid and bool(np.all(basis.frame[1:] > 0)) else "invalid exponents"


def count_unknowns(space: Any) -> int:
    """Return the number of unknowns of a space; 0 if its parts differ."""
    if _type_name(space) == "sum":
        each = {count_unknowns(part) for part in space.parts}
        return each.pop() if len(each) == 1 else 0
    count: int = space.unknowns
    return count


def _check_mirrored(basis: MirroredBasis, d: int) -> str | None:
    k = len(basis.centre)
    if _type_name(basis.features) != "waves" or k not in (2, 3) or not d - 1 <= k <= d:
        return f"a reflection in {k} of {d} coordinates"
    return None if basis.radius[0] > 0 else "a reflection without a radius"


def _check_subdomains(space: SubdomainSpace, d: int) -> str | None:
    if not space.count or len(space.combined.bases) % space.count:
        return f"{len(space.combined.bases)} bases for {space.count} subdomains"
    return None


def _check_cells(space: CellSpace, d: int) -> str | None:
    if len(space.tree) != len(space.parts):
        return f"{len(space.parts)} parts for {len(space.tree)} cells"
    return _check_parts(space.parts, "whole")


def _check_tensor_grid(space: TensorGridSpace, d: int) -> str | None:
    if not len(space.edges) == len(space.sizes) == d:
        return f"{len(space.edges)} axes with {len(space.sizes)} sizes in {d} dimensions"
    edges = [np.array(e) for e in space.edges]
    if not all(len(e) > 1 and np.isfinite(e).all() and np.all(np.diff(e) > 0) for e in edges):
        return "edges that do not increase"
    if space.unknowns < 1 or min(space.sizes) < 1:
        return "no basis functions"
    return None


def _check_windows(space: TimeWindows, d: int) -> str | None:
    edges = np.array(space.edges)
    if len(edges) != len(space.parts) + 1 or space.axis >= d:
        return f"{len(space.parts)} parts and {len(edges)} edges along coordinate {space.axis + 1} of {d}"
    if not (np.isfinite(edges).all() and np.all(np.diff(edges) > 0)):
        return "edges that do not increase"
    return _check_parts(space.parts, "whole", "cells")


def _type_name(saved_object: object) -> str:
    return REGISTRY.by_class[type(saved_object)].name


def _check_parts(parts: tuple[Any, ...], *kinds: str) -> str | None:
    if not all(_type_name(p) in kinds for p in parts):
        return "parts of another type"
    return None if len({count_unknowns(p) for p in parts}) == 1 else "parts for different numbers of unknowns"


_LAYER: dict[str, FieldCodec] = {
    "weights": FloatArray("d n"),
    "biases": FloatArray("n"),
    "activation": ACTIVATION,
}
_BROAD: dict[str, FieldCodec] = {
    "features": Nested("layer"),
    "inner": FloatArray("n m"),
    "offsets": FloatArray("m"),
    "outer": ACTIVATION,
}
_BOX: dict[str, FieldCodec] = {"centre": FloatArray("d"), "half": FloatArray("d")}
_SINGULAR: dict[str, FieldCodec] = {
    "point": FloatArray("d"),
    "frame": FloatArray("*"),
    "end": FloatArray("*"),
    "terms": FloatArray("n 4"),
}
_POWERS: dict[str, FieldCodec] = {
    "point": FloatArray("d"),
    "frames": FloatArray("r 4"),
    "terms": FloatArray("n 5"),
    "weights": FloatArray("t n m"),
}
_POLAR: dict[str, FieldCodec] = {
    "point": FloatArray("d"),
    "frame": FloatArray("3"),
    "terms": FloatArray("n 3"),
}
_MIRRORED: dict[str, FieldCodec] = {
    "waves": Nested("basis"),
    "centre": FloatArray("k"),
    "radius": FloatArray("1"),
}
_EXPONENTIAL: dict[str, FieldCodec] = {
    "growths": FloatArray("d n"),
    "turns": FloatArray("d n"),
    "offsets": FloatArray("n"),
    "phases": FloatArray("n"),
}
_EVOLVING: dict[str, FieldCodec] = {
    "space": Nested("basis", in_space=True),
    "moments": NATURAL,
    "centre": FloatArray("1"),
    "half": FloatArray("1"),
}
_PARTS: dict[str, FieldCodec] = {"parts": TupleOf(Nested("space"))}
_ESTIMATE: dict[str, FieldCodec] = {
    "max": REAL,
    "l2": REAL,
    "checked": FLAG,
    "each": TupleOf(Nested("estimate"), least=0),
    "history": FloatTuple("n 2"),
}
_PROGRESS: dict[str, FieldCodec] = {
    "nodes": NATURAL,
    "residual": REAL,
    "error": Nullable(REAL),
    "seconds": REAL,
    "t": Nullable(REAL),
    "windows": NATURAL,
    "cells": NATURAL,
    "expected": Nullable(REAL),
}

REGISTRY = TypeRegistry(
    [
        RecordType("whole", SingleDomainSpace, "space", {"bases": SharedTuple("basis")}),
        RecordType("cells", CellSpace, "space", {"tree": Nested("tree"), **_PARTS}, _check_cells),
        RecordType(
            "windows",
            TimeWindows,
            "space",
            {"axis": NATURAL, "edges": FloatTuple("*"), **_PARTS},
            _check_windows,
        ),
        RecordType("sum", SumSpace, "space", _PARTS),
        RecordType(
            "lattice",
            TensorGridSpace,
            "space",
            {"edges": TupleOf(FloatTuple("*")), "sizes": TupleOf(NATURAL), "unknowns": NATURAL},
            _check_tensor_grid,
        ),
        RecordType(
            "pieces",
            SubdomainSpace,
            "space",
            {"count": NATURAL, "all": Nested("space")},
            _check_subdomains,
            {"all": "combined"},
        ),
        RecordType("tree", CellTree, "tree", {"box": FloatTuple("d 2"), "root": CellTreeCodec()}, check_tree),
        RecordType("waves", RandomFourierBasis, "basis", {"frequencies": FloatArray("d n"), **_BOX}),
        RecordType("features", FeatureBasis, "basis", {"layer": Nested("layer")}),
        RecordType("broad", BroadBasis, "basis", _BROAD, _check_broad),
        RecordType("chebyshev", ChebyshevBasis, "basis", {"size": NATURAL, **_BOX}, _check_chebyshev),
        RecordType("singular", SingularBasis, "basis", _SINGULAR, _check_singular),
        RecordType("powers", PowersBasis, "basis", _POWERS, _check_powers),
        RecordType("polar", PolarBasis, "basis", _POLAR, _check_polar),
        RecordType(
            "annular",
            AnnularBasis,
            "basis",
            {"centre": FloatArray("2"), "form": FloatArray("*")},
            _check_annular,
        ),
        RecordType("exponential", ExponentialBasis, "basis", _EXPONENTIAL),
        RecordType("mirrored", MirroredBasis, "basis", _MIRRORED, _check_mirrored, {"waves": "features"}),
        RecordType("degrees", TotalDegreeBasis, "basis", {"degree": NATURAL, **_BOX}, _check_degree),
        RecordType(
            "evolving",
            SpaceTimeBasis,
            "basis",
            _EVOLVING,
            _check_evolving,
            {"moments": "time_functions"},
        ),
        RecordType("joined", JoinedBasis, "basis", {"parts": TupleOf(Nested("basis"))}),
        RecordType(
            "products",
            ProductBasis,
            "basis",
            {"sizes": TupleOf(NATURAL), "repeated": TupleOf(NATURAL, least=0), **_BOX},
            _check_products,
            {"repeated": "periodic_axes"},
        ),
        RecordType("layer", Layer, "layer", {**_LAYER, **_BOX}),
        RecordType("estimate", ErrorEstimate, "estimate", _ESTIMATE),
        RecordType("progress", Progress, "progress", _PROGRESS),
    ]
)
