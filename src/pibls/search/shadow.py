r"""J δη + B δσ = -F, δσ⁺ = E δη + T δσ + gap: a second orbit beside the first, in windows half as long.

The first orbit is where Newton's method starts from, and all windows are linearised at once: their equations
are evaluated as one array and their matrices solved in one call. What couples them is a recurrence of the few
numbers that one window hands to the next. Windows half as long with three quarters of the points have a far
smaller error than those of the first orbit: the difference is its error, accumulated from the start on. What
rounding makes of both follows from the same recurrence: two orbits may be off alike by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.basis.chebyshev import polynomials
from pibls.basis.radau import Radau
from pibls.search.orbit import Path, function_of
from pibls.solver.collocation import Collocation
from pibls.space import Windows

_ROUNDS = 6
_EXACT = 1e-7  # a relative change whose square is nothing
_SLOW = 0.5
_ROUNDING = 2.0 * 2.2e-16  # of what is handed on, relative: Kepler's orbits lose about that much
_NUMBERS = 2_000_000  # entries of the matrices that are made at once
_SHARE = 0.75  # of the points


@dataclass(frozen=True)
class Shadow:
    """A second orbit as a function, and what rounding makes of each unknown at the ends of its windows."""

    function: tuple[Windows, Array]
    t: Array
    rounding: Array
    """Standard deviations, (unknowns, ends)."""


def shadow(path: Path, first: Collocation, switched: set[float]) -> Shadow | None:
    """The second orbit; None where there is none.

    At the times of ``switched`` the first orbit may jump, and the second jumps as far.
    """
    old = first.radau
    new = Radau.of(max(int(_SHARE * old.s), 4), old.order)
    second = _Second(Collocation(path.line, new), *_halved(path, old, new))
    for n, window in enumerate(path.steps[:-1]):
        if window.stop in switched:
            second.jumps[2 * n + 1] = _jump(path, old, n)
    before = np.inf
    for _ in range(_ROUNDS):
        change = second.improve(path.sizes)
        if not np.isfinite(change):
            return None
        if change < _EXACT or change > _SLOW * before:
            break  # it is there, or what is left is what the orbit makes of rounding
        before = change
    return Shadow(second.function(), second.edges[1:], second.rounding())


def _halved(path: Path, old: Radau, new: Radau) -> tuple[Array, Array, list[Array], Array]:
    """Where the halves begin and end, half their lengths, z of each group, and no jumps."""
    edges = path.edges
    both = np.empty(2 * len(edges) - 1)
    both[::2], both[1::2] = edges, 0.5 * (edges[:-1] + edges[1:])
    # Not the difference of the edges: in a window that is short beside t, they are rounded.
    half = np.repeat([0.5 * s.piece.half for s in path.steps], 2)
    z, states = [], 0
    for i, g in enumerate(path.line.groups):
        given = np.array([s.piece.z[i] for s in path.steps])
        here = np.empty((2 * len(given), len(g.unknowns), g.order + new.s))
        here[::2], here[1::2] = (given @ _to_half(old, new, g.order, side) for side in (0, 1))
        z.append(here)
        states += g.order * len(g.unknowns)
    return both, half, z, np.zeros((2 * len(path.steps) - 1, states))


def _to_half(old: Radau, new: Radau, m: int, side: int) -> Array:
    """z of an interval ↦ z of its first or second half, (m + s, m + s')."""
    out = np.zeros((m + old.s, m + new.s))
    out[m:, m:] = (polynomials(0.5 * (new.points - 1.0) + side, old.s) @ old.inverse).T
    if side == 0:
        out[:m, :m] = np.eye(m)
    else:
        middle = polynomials(np.zeros(1), old.size)[0]
        for j in range(m):  # u⁽ʲ⁾ is an unknown of the order m - j that begins with the later derivatives
            out[j:, j] = old.coefficients[m - j] @ middle
    return out * 0.5 ** np.append(np.arange(float(m)), np.full(new.s, float(m)))


def _jump(path: Path, old: Radau, n: int) -> Array:
    """How far the derivatives below the highest jump after the window n, (states,)."""
    before, after = (path.steps[i].piece for i in (n, n + 1))
    out = []
    for g, first, second in zip(path.line.groups, before.z, after.z, strict=True):
        powers = np.arange(float(g.order))
        end = (first @ _ends(old, g.order)) * before.half**-powers
        out.append((second[:, : g.order] * after.half**-powers - end).ravel())
    return np.concatenate(out)


def _ends(radau: Radau, m: int) -> Array:
    """z ↦ half^j u⁽ʲ⁾ at the end, j < m, (m + s, m)."""
    return radau.jets[m].reshape(m + radau.s, m + 1, -1)[:, :m, radau.s - 1]


@dataclass(frozen=True)
class _Linear:
    """δη = own + influence δσ and u₁ = end + transfer δσ in each half, δσ the change of its beginning."""

    own: Array
    influence: Array
    begun: Array
    """What it begins with until now."""
    end: Array
    transfer: Array


@dataclass
class _Second:
    """The halves of all windows."""

    collocation: Collocation
    edges: Array
    half: Array
    z: list[Array]
    jumps: Array
    variances: Array = field(default_factory=lambda: np.empty((0, 0)))
    """Of what is handed on after each half, from rounding alone, (halves, states)."""

    def rounding(self) -> Array:
        """The standard deviations of the unknowns, (unknowns, halves); zero for algebraic ones."""
        line, first, out = self.collocation.line, 0, {}
        for g in line.groups:
            for i, k in enumerate(g.unknowns):
                place = first + i * g.order
                out[k] = np.sqrt(self.variances[:, place]) if g.order else np.zeros(len(self.half))
            first += g.order * len(g.unknowns)
        return np.array([out[k] for k in sorted(out)])

    def function(self) -> tuple[Windows, Array]:
        line, radau = self.collocation.line, self.collocation.radau
        pairs = zip(line.groups, self.z, strict=True)
        C = np.concatenate([z @ radau.coefficients[g.order] for g, z in pairs], axis=1)
        return function_of(self.edges, line, C)

    def improve(self, sizes: Array) -> float:
        """One step of Newton's method for all halves; the largest change of an unknown, relative."""
        half = self.half
        count = max(_NUMBERS // (len(sizes) * self.collocation.radau.s) ** 2, 1)
        carried, before, change = np.zeros(self.jumps.shape[1]), None, 0.0
        covariance = np.zeros((len(carried), len(carried)))
        self.variances = np.zeros((len(half), len(carried)))
        for low in range(0, len(half), count):
            part = slice(low, min(low + count, len(half)))
            found = self._linearised(part, half[part])
            if found is None:
                return np.inf
            states = np.empty((part.stop - low, len(carried)))
            noise = (_ROUNDING * np.maximum(np.abs(found.begun), np.abs(found.end))) ** 2
            for k in range(len(states)):
                if before is not None:
                    carried = before - found.begun[k]
                states[k] = carried
                P = found.transfer[k]
                before = found.end[k] + P @ carried
                covariance = P @ covariance @ P.T
                covariance.flat[:: len(carried) + 1] += noise[k]
                self.variances[low + k] = covariance.diagonal()
                if low + k < len(self.jumps):
                    before = before + self.jumps[low + k]
            delta = found.own + np.einsum("wnsq,wq->wns", found.influence, states)
            change = max(change, float((np.abs(delta).max(axis=2) / sizes).max()))
            self._move(part, half[part], delta, states)
        return change

    def _move(self, part: slice, half: Array, delta: Array, states: Array) -> None:
        first = 0
        for i, g in enumerate(self.collocation.line.groups):
            m, n = g.order, len(g.unknowns)
            mine = states[:, first : first + n * m].reshape(len(half), n, m)
            first += n * m
            self.z[i][part, :, :m] += mine * half[:, None, None] ** np.arange(float(m))
            self.z[i][part, :, m:] += delta[:, g.columns]

    def _linearised(self, part: slice, half: Array) -> _Linear | None:
        """The equations of some halves about what is known of them."""
        line, r = self.collocation.line, self.collocation.radau
        s, count = r.s, len(half)
        start = self.edges[:-1][part]
        t = start[:, None] + half[:, None] * (r.points + 1.0)
        t[:, -1] = np.nextafter(t[:, -1], start)
        U, begun, end = self._derivatives(part, half)
        held, flat = line.held(t.ravel()), U.reshape(line.rows, -1)
        F = line.values(held, flat)
        n = len(F)
        G = line.slopes(held, flat, count * s).reshape(n, line.rows, count, s).transpose(2, 0, 1, 3)
        if not (np.isfinite(F).all() and np.isfinite(G).all()):
            return None
        G, scale = self.collocation.equilibrated(G, half)
        right = [(F.reshape(n, count, s).swapaxes(0, 1) / scale).reshape(count, n * s, 1)]
        for g in line.groups:
            m, k = g.order, len(g.unknowns)
            taylor = r.jets[m].reshape(m + s, m + 1, -1)[:m, :, :s]
            B = np.einsum("wekji,lji->weikl", G[:, :, g.rows].reshape(count, n, k, m + 1, s), taylor)
            B *= half[:, None, None, None, None] ** np.arange(float(m))
            right.append(B.reshape(count, n * s, k * m))
        try:
            found = np.linalg.solve(self.collocation.matrix(G), np.concatenate(right, axis=2))
        except np.linalg.LinAlgError:
            return None
        X: Array = -np.asarray(found, dtype=float).reshape(count, n, s, -1)
        pushed, transfer = self._handed(X, half)
        return _Linear(X[..., 0], X[..., 1:], begun, end + pushed, transfer)

    def _derivatives(self, part: slice, half: Array) -> tuple[Array, Array, Array]:
        """U (rows, halves, s), and what is below the highest derivatives at both ends, (halves, states)."""
        line, r = self.collocation.line, self.collocation.radau
        s, count = r.s, len(half)
        U = np.empty((line.rows, count, s))
        begun, end = [], []
        for g, all_z in zip(line.groups, self.z, strict=True):
            m, z = g.order, all_z[part]
            table = r.jets[m].reshape(m + s, m + 1, -1)[:, :, :s].reshape(m + s, -1)
            powers = half[:, None, None, None] ** -np.arange(m + 1.0)[:, None]
            found = (z @ table).reshape(count, len(g.unknowns), m + 1, s) * powers
            U[g.rows] = np.moveaxis(found.reshape(count, (m + 1) * len(g.unknowns), s), 0, 1)
            states = m * len(g.unknowns)
            begun.append((z[:, :, :m] * powers[:, :, :m, 0]).reshape(count, states))
            end.append(found[:, :, :m, -1].reshape(count, states))
        return U, np.concatenate(begun, axis=1), np.concatenate(end, axis=1)

    def _handed(self, X: Array, half: Array) -> tuple[Array, Array]:
        """What δη changes at the end, (halves, states), and what the beginning does, (…, states)."""
        pushed, transfer, first = [], [], 0
        for g in self.collocation.line.groups:
            m, k = g.order, len(g.unknowns)
            ends, powers = _ends(self.collocation.radau, m), np.arange(float(m))
            moved = np.einsum("wksq,sl->wklq", X[:, g.columns], ends[m:])
            moved *= half[:, None, None, None] ** -powers[:, None]
            pushed.append(moved[..., 0].reshape(len(half), k * m))
            through = moved[..., 1:].copy()
            kept = ends[:m].T * half[:, None, None] ** (powers - powers[:, None])
            for i in range(k):
                through[:, i, :, first + i * m : first + (i + 1) * m] += kept
            transfer.append(through.reshape(len(half), k * m, through.shape[-1]))
            first += k * m
        return np.concatenate(pushed, axis=1), np.concatenate(transfer, axis=1)
