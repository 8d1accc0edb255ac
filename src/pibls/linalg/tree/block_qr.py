r"""[τI; D_r A D_c] = QR of a block-sparse matrix, front by front: multifrontal QR.

To eliminate a group of parts, all rows that touch it are gathered in a dense front and factored (`fronts`).
A chain of S parts with m columns each costs S m³ instead of (S m)³. Bundles of fronts (`layout`) are the
tasks of an engine: each is a pure function of its own rows and of what was handed to it, here or anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.deadline import go_on
from pibls.linalg.tree.fronts import Front, Rest, eliminate
from pibls.linalg.tree.layout import Bundle
from pibls.linalg.tree.spread import Piece, Spread


def factor(A: Spread, scale: Array, cond: float) -> BlockFactorization:
    """Factor diag(1/scale)·A with columns of unit length; τ = cond·√columns."""
    engine, layout = A.engine, A.layout
    lengths = A.column_norms(scale)
    ridge = float(cond * np.sqrt(A.shape[1]))
    fronts: list[Any] = []
    rests: dict[int, Any] = {}
    for bundle, piece, rows in zip(layout.bundles, A.pieces, A.rows, strict=True):
        mine = {p: lengths[p] for s in bundle.strips for p in layout.touched[s]}
        given = [rests.pop(f) for f in bundle.given]
        done = engine.call(eliminated, bundle, piece, scale[rows], mine, given, ridge)
        rests.update({f: engine.call(_handed, done, f) for f in bundle.gives})
        fronts.append(engine.call(itemgetter(0), done))
        del done, given  # nobody else needs what was handed on
    return BlockFactorization(A, scale, tuple(lengths), tuple(fronts))


def _handed(done: tuple[Any, Mapping[int, Any]], front: int) -> Any:
    """What one front of a bundle hands on."""
    return done[1][front]


def eliminated(
    bundle: Bundle,
    piece: Piece,
    scale: Array,
    lengths: Mapping[int, Array],
    given: Sequence[Rest],
    ridge: float,
) -> tuple[tuple[Front, ...], dict[int, Rest]]:
    """The fronts of a bundle, and what it hands on."""
    number = {s: i for i, s in enumerate(bundle.strips)}
    ends = np.cumsum([0, *map(len, piece)]).tolist()
    rests = dict(zip(bundle.given, given, strict=True))
    of_rows, of_columns = (1.0 / scale)[:, None], {p: 1.0 / found for p, found in lengths.items()}
    out = []
    for f, plan in zip(bundle.fronts, bundle.plans, strict=True):
        go_on(__name__)
        blocks = [
            (piece[i].parts, piece[i].blocks, of_rows[ends[i] : ends[i + 1]])
            for i in (number[s] for s in plan.strips)
        ]
        given = [rests.pop(g) for g in plan.handed_on]
        front, rest = eliminate(plan, bundle.widths, blocks, of_columns, given, ridge)
        out.append(front)
        if plan.neighbours:
            rests[f] = rest
    return tuple(out), rests


def forward(
    bundle: Bundle, fronts: Sequence[Front], b: Array, heights: Sequence[int], given: Sequence[Array]
) -> tuple[list[Array], dict[int, Array]]:
    """Qᵀ b in the rows of each front, and what is handed on."""
    ends = np.cumsum([0, *heights]).tolist()
    pieces = {s: b[i:j] for s, i, j in zip(bundle.strips, ends[:-1], ends[1:], strict=True)}
    handed = dict(zip(bundle.given, given, strict=True))
    tops = []
    for f, plan, front in zip(bundle.fronts, bundle.plans, fronts, strict=True):
        mine = [pieces[s] for s in plan.strips] + [handed.pop(g) for g in plan.handed_on]
        top, handed[f] = front.turned(mine)
        tops.append(top)
    return tops, {f: handed[f] for f in bundle.gives}


def backward(
    bundle: Bundle,
    fronts: Sequence[Front],
    turned: tuple[list[Array], dict[int, Array]],
    known: Sequence[Mapping[int, Array]],
) -> dict[int, Array]:
    """R y = top: the solution in the parts of a bundle, given that of those who were eliminated later."""
    from scipy.linalg import lapack

    y = {p: values for found in known for p, values in found.items()}
    out: dict[int, Array] = {}
    for plan, front, top in zip(reversed(bundle.plans), reversed(fronts), reversed(turned[0]), strict=True):
        if plan.neighbours:
            top = top - front.beside @ np.concatenate([y[p] for p in plan.neighbours])
        found = lapack.dtrtrs(front.triangle, top[:, None])[0][:, 0]
        start = 0
        for p in plan.own:
            y[p] = out[p] = found[start : start + bundle.widths[p]]
            start += bundle.widths[p]
    return out


@dataclass(frozen=True)
class BlockFactorization:
    """The fronts in the order of elimination, wherever they are."""

    matrix: Spread = field(repr=False)
    row_scale: Array = field(repr=False)
    column_scale: tuple[Array, ...] = field(repr=False)
    held: tuple[Any, ...] = field(repr=False)
    """For each bundle a handle of its fronts."""

    @property
    def rank(self) -> int:
        return self.matrix.shape[1]

    def apply(self, b: Array) -> Array:
        A, call = self.matrix, self.matrix.engine.call
        layout = A.layout
        scaled = b / self.row_scale
        turned: list[Any] = []
        handed: dict[int, Any] = {}
        for bundle, fronts, rows in zip(layout.bundles, self.held, A.rows, strict=True):
            heights = [A.heights[s] for s in bundle.strips]
            done = call(forward, bundle, fronts, scaled[rows], heights, [handed.pop(f) for f in bundle.given])
            turned.append(done)
            handed.update({f: call(_handed, done, f) for f in bundle.gives})
        found: list[Any] = [None] * len(layout.bundles)
        for i in reversed(range(len(layout.bundles))):
            bundle = layout.bundles[i]
            later = sorted({layout.solvers[p] for p in bundle.beyond})
            found[i] = call(backward, bundle, self.held[i], turned[i], [found[j] for j in later])
        w = np.empty(self.rank)
        for mine in A.engine.get(found):
            for p, y in mine.items():
                w[layout.columns[p]] = y / self.column_scale[p]
        return w
