r"""Multifrontal QR of a block-sparse matrix, [τI; D_r A D_c] = QR.

To eliminate a group of parts (blocks of columns), all rows that touch it are gathered in a dense front and
factored (`fronts`). A chain of S parts with m columns each costs S m³ instead of (S m)³. Bundles of fronts
(`layout`) are the tasks of an engine: each is a pure function of its own rows and of the contributions of its
children, and can run in any process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np

from pibls.arrays import Array
from pibls.linalg.tree.block_sparse import BlockSparseMatrix, Strips
from pibls.linalg.tree.engine import Handle
from pibls.linalg.tree.fronts import ContributionBlock, Front, eliminate
from pibls.linalg.tree.layout import Bundle
from pibls.runtime.deadline import check_deadline

T = TypeVar("T")
Fronts: TypeAlias = tuple[Front, ...]
Transformed: TypeAlias = tuple[list[Array], dict[int, Array]]
"""Qᵀ b in the rows of each front of a bundle, and its part for other bundles."""


def factor(A: BlockSparseMatrix, scale: Array, cond: float) -> BlockFactorization:
    """Factor diag(1/scale)·A with columns of unit length; τ = cond·√columns."""
    engine, layout = A.engine, A.layout
    lengths = A.column_norms(scale)
    ridge = float(cond * np.sqrt(A.shape[1]))
    fronts: list[Handle[Fronts]] = []
    rests: dict[int, Handle[ContributionBlock]] = {}
    for bundle, strips, rows in zip(layout.bundles, A.blocks, A.rows, strict=True):
        mine = {p: lengths[p] for s in bundle.strips for p in layout.touched[s]}
        inputs = [rests.pop(f) for f in bundle.inputs]
        done = engine.call(eliminate_bundle, bundle, strips, scale[rows], mine, inputs, ridge)
        rests.update({f: engine.call(_contribution, done, f) for f in bundle.outputs})
        fronts.append(engine.call(_fronts, done))
        del done, inputs  # releases the contributions
    return BlockFactorization(A, scale, tuple(lengths), tuple(fronts))


def _fronts(done: tuple[Fronts, Mapping[int, ContributionBlock]]) -> Fronts:
    return done[0]


def _contribution(done: tuple[object, Mapping[int, T]], front: int) -> T:
    """Return the contribution of one front of a bundle to its parent."""
    return done[1][front]


def eliminate_bundle(
    bundle: Bundle,
    strips: Strips,
    scale: Array,
    lengths: Mapping[int, Array],
    inputs: Sequence[ContributionBlock],
    ridge: float,
) -> tuple[Fronts, dict[int, ContributionBlock]]:
    """Return the fronts of a bundle and its contributions to other bundles."""
    number = {s: i for i, s in enumerate(bundle.strips)}
    ends = np.cumsum([0, *map(len, strips)]).tolist()
    rests = dict(zip(bundle.inputs, inputs, strict=True))
    of_rows, of_columns = (1.0 / scale)[:, None], {p: 1.0 / found for p, found in lengths.items()}
    out = []
    for f, plan in zip(bundle.fronts, bundle.plans, strict=True):
        check_deadline(__name__)
        blocks = [
            (strips[i].parts, strips[i].blocks, of_rows[ends[i] : ends[i + 1]])
            for i in (number[s] for s in plan.strips)
        ]
        inputs = [rests.pop(g) for g in plan.children]
        front, rest = eliminate(plan, bundle.widths, blocks, of_columns, inputs, ridge)
        out.append(front)
        if plan.neighbours:
            rests[f] = rest
    return tuple(out), rests


def forward(
    bundle: Bundle, fronts: Sequence[Front], b: Array, heights: Sequence[int], inputs: Sequence[Array]
) -> Transformed:
    """Return Qᵀ b in the rows of each front, and its part for other bundles."""
    ends = np.cumsum([0, *heights]).tolist()
    parts_of_b = {s: b[i:j] for s, i, j in zip(bundle.strips, ends[:-1], ends[1:], strict=True)}
    contributions = dict(zip(bundle.inputs, inputs, strict=True))
    tops = []
    for f, plan, front in zip(bundle.fronts, bundle.plans, fronts, strict=True):
        mine = [parts_of_b[s] for s in plan.strips] + [contributions.pop(g) for g in plan.children]
        top, contributions[f] = front.apply_transpose(mine)
        tops.append(top)
    return tops, {f: contributions[f] for f in bundle.outputs}


def backward(
    bundle: Bundle,
    fronts: Sequence[Front],
    turned: Transformed,
    known: Sequence[Mapping[int, Array]],
) -> dict[int, Array]:
    """Solve R y = top for the parts of a bundle, given the solution in the parts eliminated later."""
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
    """The fronts in the order of elimination, as handles of the engine."""

    matrix: BlockSparseMatrix = field(repr=False)
    row_scale: Array = field(repr=False)
    column_scale: tuple[Array, ...] = field(repr=False)
    fronts: tuple[Handle[Fronts], ...] = field(repr=False)
    """A handle of the fronts of each bundle."""

    @property
    def rank(self) -> int:
        return self.matrix.shape[1]

    def apply(self, b: Array) -> Array:
        A, call = self.matrix, self.matrix.engine.call
        layout = A.layout
        scaled = b / self.row_scale
        turned: list[Handle[Transformed]] = []
        contributions: dict[int, Handle[Array]] = {}
        for bundle, fronts, rows in zip(layout.bundles, self.fronts, A.rows, strict=True):
            heights = [A.heights[s] for s in bundle.strips]
            done = call(
                forward, bundle, fronts, scaled[rows], heights, [contributions.pop(f) for f in bundle.inputs]
            )
            turned.append(done)
            contributions.update({f: call(_contribution, done, f) for f in bundle.outputs})
        found: dict[int, Handle[dict[int, Array]]] = {}
        for i, bundle in reversed(list(enumerate(layout.bundles))):
            later = sorted({layout.solving_bundle[p] for p in bundle.external_parts})
            found[i] = call(backward, bundle, self.fronts[i], turned[i], [found[j] for j in later])
        w = np.empty(self.rank)
        for mine in A.engine.get([found[i] for i in range(len(layout.bundles))]):
            for p, y in mine.items():
                w[layout.columns[p]] = y / self.column_scale[p]
        return w
