r"""Σ_k S_ek(μ₁, …, μ_d, λ) c_k = r_e: unknowns that move each other on a box, one small matrix for each mode.

Along each coordinate all of them are made of the same modes (`system.evolutions.pairing`): those of ∂² + q
among the functions that meet the conditions, or ∂ of these, or waves round a period. Coefficients that vary
are taken as their mean; what is left out that way makes the operator nearly the identity instead of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.arrays import Array, Complex, MultiIndex
from pibls.assembly.evolutions.frame import Frame
from pibls.assembly.evolutions.pairing import Parity
from pibls.assembly.tensor_products.nearest import SAME, Span
from pibls.basis.polynomials.product import derivative_of
from pibls.basis.polynomials.strand import Strand
from pibls.linalg.kronecker import Axis, along

Terms = Mapping[tuple[int, int], Mapping[tuple[MultiIndex, int], Array]]
"""Of the equation of an unknown and another unknown: coefficients at the points, by derivatives."""
_VANISHING = 1e-3  # of its largest value: a coefficient that falls below it is no scale of its equation


class NotJointError(Exception):
    """Their modes are not known."""


@dataclass(frozen=True)
class _Kind:
    """From values at the points of an unknown along a coordinate to modes, and from these to functions."""

    forth: Any = field(repr=False)
    back: Any = field(repr=False)
    parity: int
    asked: int


@dataclass(frozen=True)
class _Along:
    """The modes along one coordinate: what derivatives do to them."""

    kinds: dict[int, _Kind]
    count: int
    repeated: bool
    values: Any = field(default=None, repr=False)
    """Of ∂² + q, or of i∂ round a period; None where no unknown has conditions."""
    closed: bool = True
    """Whether the modes are nothing at the ends."""

    @property
    def least(self) -> int:
        return min(len(k.forth) for k in self.kinds.values())

    def present(self, k: int) -> Array:
        """1 where an unknown has that mode, else 0."""
        return np.asarray(np.arange(self.count) < len(self.kinds[k].forth), dtype=float)

    def symbol(self, row: int, k: int, order: int) -> tuple[Any, bool]:
        """What ∂^order of an unknown is in the equation of another, and whether that is all."""
        mine, other = self.kinds[row], self.kinds[k]
        if self.repeated:
            return self.values**order, True
        both = self.present(row) * self.present(k)
        ends = mine.asked > 0 or other.asked == 0  # else the values at the ends follow
        if order == 0 and mine.parity == other.parity:
            return both, ends or self.closed
        if self.values is None or mine.parity not in (0, 1):
            raise NotJointError
        padded = np.zeros(self.count, dtype=self.values.dtype)
        padded[: len(self.values)] = self.values
        if order and order == other.asked and mine.parity == other.parity == 0:
            return padded, ends
        if order == 1 and mine.parity == 0 and other.parity == 1:
            return -np.sqrt(-padded), mine.asked > 0
        if order == 1 and mine.parity == 1 and other.asked:
            return np.sqrt(-padded), True
        raise NotJointError


@dataclass(frozen=True)
class JointInverse:
    """The inverse, for each λ."""

    members: tuple[int, ...]
    along: tuple[_Along, ...] = field(repr=False)
    scales: tuple[Array, ...] = field(repr=False)
    """What the rows of each equation are divided by."""
    inverse: Complex = field(repr=False)
    """(modes, λ, unknowns, equations)."""
    is_exact: bool

    @classmethod
    def of(
        cls,
        frame: Frame,
        group: dict[int, Parity],
        spans: Sequence[Sequence[Span]],
        terms: Terms,
        shifts: Complex,
    ) -> JointInverse:
        """Raises a `NotJointError` or a LinAlgError where their modes are not known."""
        members = tuple(sorted(group))
        terms = {key: found for key, found in terms.items() if key[0] in group}
        scales = {r: _scale(r, terms, frame) for r in members}
        q = _potentials(frame, members, group, terms, scales)
        axes = tuple(_along(frame, i, group, [s[i] for s in spans], q[i]) for i in range(len(frame.sizes)))
        inner = tuple(slice(a.least) for a in axes)
        counts = [a.count for a in axes]
        S = np.zeros((*counts, len(shifts), len(members), len(members)), dtype=complex)
        exact = True
        for (r, k), found in terms.items():
            if k not in group:
                exact = exact and not any(c.any() for c in found.values())
                continue
            bare = np.zeros(())
            for (alpha, a), c in found.items():
                c = (c / scales[r])[inner]
                if not c.any():
                    continue
                if not sum(alpha) and not a:
                    bare = bare + c
                    continue
                mean = float(c.mean())
                exact = exact and bool(np.abs(c - mean).max() <= SAME * np.abs(c).max())
                try:
                    value, whole = _product(axes, r, k, alpha)
                except NotJointError:
                    exact = False
                    if sum(alpha) and r != k:
                        raise
                    continue
                exact = exact and whole
                S[..., members.index(r), members.index(k)] += mean * shifts**a * value[..., None]
                for i, order in enumerate(alpha):
                    if order and q[i].any():
                        if sum(alpha) > order:
                            raise NotJointError
                        bare = bare - mean * q[i].reshape(-1, *(1,) * (len(axes) - 1 - i))
            if np.any(bare):
                mean = float(bare.mean())
                exact = exact and bool(np.abs(bare - mean).max() <= 1e2 * SAME * np.abs(bare).max())
                try:
                    value, whole = _product(axes, r, k, (0,) * len(axes))
                except NotJointError:
                    exact = False
                    continue
                exact = exact and whole
                S[..., members.index(r), members.index(k)] += mean * value[..., None]
        for e, r in enumerate(members):  # modes that an unknown has not
            S[..., e, e] += 1.0 - _present(axes, r)[..., None]
        inverse = np.asarray(np.linalg.inv(S), dtype=complex)
        if not np.isfinite(inverse).all():
            raise NotJointError
        return cls(members, axes, tuple(scales[r] for r in members), inverse, exact)

    def solve(self, rows: Sequence[Complex]) -> list[Complex]:
        """Coefficients (n₁, n₂, …, λ) of each unknown from the rows of its equation, (points, λ)."""
        counts = [a.count for a in self.along]
        R: Any = np.zeros((*counts, self.inverse.shape[-3], len(self.members)), dtype=complex)
        for e, (k, row, scale) in enumerate(zip(self.members, rows, self.scales, strict=True)):
            made: Any = row.reshape(*scale.shape, -1) / scale[..., None]
            for i, axis in enumerate(self.along):
                made = along(axis.kinds[k].forth, made, i)
            R[..., e][tuple(map(slice, made.shape[:-1]))] = made
        Z = np.matmul(self.inverse, R[..., None])[..., 0]
        out = []
        for e, k in enumerate(self.members):
            here = tuple(slice(len(a.kinds[k].forth)) for a in self.along)
            made = Z[..., e][here]
            for i, axis in enumerate(self.along):
                made = along(axis.kinds[k].back, made, i)
            out.append(np.asarray(made))
        return out


def _product(axes: Sequence[_Along], r: int, k: int, alpha: MultiIndex) -> tuple[Any, bool]:
    value, whole = np.ones((1,) * len(axes)), True
    for i, (axis, order) in enumerate(zip(axes, alpha, strict=True)):
        line, all_of_it = axis.symbol(r, k, order)
        value, whole = value * line.reshape(-1, *(1,) * (len(axes) - 1 - i)), whole and all_of_it
    return value, whole


def _present(axes: Sequence[_Along], k: int) -> Array:
    value = np.ones((1,) * len(axes))
    for i, axis in enumerate(axes):
        value = value * axis.present(k).reshape(-1, *(1,) * (len(axes) - 1 - i))
    return value


def _scale(r: int, terms: Terms, frame: Frame) -> Array:
    """The strongest coefficient of an equation, next to its mean, where it vanishes nowhere."""
    best, strength = None, (False, -1.0)
    for (row, _), found in terms.items():
        for (alpha, a), c in found.items():
            natural = float(np.abs(c).mean() * np.prod(frame.half ** -np.array(alpha, dtype=float)))
            mine = bool(any(alpha)), natural
            if row == r and (any(alpha) or a) and mine > strength:
                best, strength = np.abs(c), mine
    assert best is not None  # every equation has a rate
    return best / best.mean() if best.min() > _VANISHING * best.max() else np.ones_like(best)


def _potentials(
    frame: Frame, members: Sequence[int], group: dict[int, Parity], terms: Terms, scales: dict[int, Array]
) -> list[Array]:
    """q along each coordinate: what stands beside ∂² there, of the term that varies most."""
    d = len(frame.sizes)
    walls = [i for i in range(d) if not frame.repeated[i]]
    q = [np.zeros(min(frame.count(k, i) for k in members)) for i in range(d)]
    bound = [k for k in members if all(frame.asked[i][k] for i in walls)]
    best, most = None, 1e-12
    for (r, k), found in terms.items():
        c = found.get(((0,) * d, 0))
        if c is None or r not in bound or k not in bound:
            continue
        tops = [found.get((tuple(frame.asked[i][k] * (i == j) for j in range(d)), 0)) for i in walls]
        means = [0.0 if t is None else float((t / scales[r]).mean()) for t in tops]
        c = c / scales[r]
        if all(means) and float(c.std()) > most * max(map(abs, means)):
            best, most = (c, means), float(c.std()) / max(map(abs, means))
    if best is None:
        return q
    for i, mean in zip(walls, best[1], strict=True):
        if not any(parity[i] for parity in group.values()):
            line = best[0].mean(axis=tuple(j for j in range(d) if j != i))
            q[i] = (line - line.mean()) / mean
    return q


def _along(frame: Frame, i: int, group: dict[int, Parity], spans: list[Span], q: Array) -> _Along:
    strand, half = frame.strands[i], float(frame.half[i])
    n = strand.size
    if frame.repeated[i]:
        numbers = np.zeros(n)
        numbers[1::2], numbers[2::2] = np.arange(1, n // 2 + 1), -np.arange(1, n // 2 + 1)
        points = frame.points(next(iter(group)), i)
        forth = np.exp(-1j * np.pi * numbers[:, None] * points) / n
        back = np.zeros((n, n), dtype=complex)
        back[0, 0] = 1.0
        up, down = np.arange(1, n, 2), np.arange(2, n, 2)
        back[up, up], back[up, down], back[down, up], back[down, down] = 1.0, 1.0, 1j, -1j
        kinds = {k: _Kind(forth, back, 0, 0) for k in group}
        return _Along(kinds, n, True, 1j * np.pi * numbers / half)
    bound = next((k for k in group if frame.asked[i][k]), None)
    if bound is None:
        kinds = {k: _Kind(np.eye(n), spans[k].from_values, group[k][i], 0) for k in group}
        return _Along(kinds, n, False)
    own, m = spans[bound], frame.asked[i][bound]
    points = frame.points(bound, i)
    nodes, ends = points[: n - m], points[n - m :]
    A = strand.at(nodes, m) @ own.free / half**m + np.diag(q)
    found = Axis.of(A, strand.weights(m), apart=True)
    if found.triangle is not None:
        raise NotJointError
    origin, modes = group[bound][i], own.free @ found.back
    closed = bool(np.abs(strand.at(ends) @ modes).max() <= 1e-10 * np.abs(found.back).max())
    kinds = {}
    for k, parity in group.items():
        odd = (parity[i] + origin) % 2
        if frame.asked[i][k]:
            kinds[k] = _Kind(found.forth, modes, 0, m)
        elif not odd:
            ended = np.eye(n, dtype=found.forth.dtype)
            ended[: n - m, : n - m] = found.forth
            back = np.eye(n, dtype=found.back.dtype)
            back[: n - m, : n - m] = found.back
            kinds[k] = _Kind(ended, spans[k].from_values @ back, 0, 0)
        else:
            kinds[k] = _slopes(strand, spans[k], nodes, modes, found.values, half, m)
    return _Along(kinds, max(len(k.forth) for k in kinds.values()), False, found.values, closed)


def _slopes(
    strand: Strand, span: Span, nodes: Array, modes: Array, values: Any, half: float, m: int
) -> _Kind:
    """∂ of the modes, and what ∂ takes to nothing at the nodes."""
    n = len(modes)
    if m != 2 or strand.pieces > 1 or np.iscomplexobj(values) or values.max() > -1e-8 * np.abs(values).max():
        raise NotJointError
    derivative = derivative_of(n) / half
    steep = derivative @ modes / np.sqrt(-values)
    kernel = np.linalg.svd(strand.at(nodes, 1))[2][len(nodes) :].T
    back = np.concatenate([steep, kernel * np.abs(steep).max()], axis=1)
    return _Kind(np.linalg.inv(back) @ span.from_values, back, 1, 0)
