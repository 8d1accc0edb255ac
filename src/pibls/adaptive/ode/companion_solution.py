r"""J δη + B δσ = -F, δσ⁺ = E δη + T δσ + gap: a second orbit beside the first, in windows half as long.

The first orbit is where Newton's method starts from, and all windows are linearised at once
(`search.orbits.together`). Windows half as long with three quarters of the points have a far
smaller error than those of the first orbit: the difference is its error, accumulated from the start on. What
rounding makes of both follows from the same recurrence: two orbits may be off alike by chance. In chaos they
part: where they are as far from each other as they are large, nothing follows from a linearisation any more,
and the second one ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pibls.adaptive.ode.orbit import Path, function_of
from pibls.adaptive.ode.together import Together, ends
from pibls.adaptive.thresholds import ORBITS
from pibls.arrays import Array
from pibls.basis.polynomials.chebyshev import polynomials
from pibls.basis.polynomials.radau import Radau
from pibls.nonlinear.collocation import Collocation
from pibls.spaces import Windows


@dataclass(frozen=True)
class Shadow:
    """A second orbit as a function, and what rounding makes of each unknown at the ends of its windows."""

    function: tuple[Windows, Array]
    t: Array
    rounding: Array
    """Standard deviations, (unknowns, ends)."""

    @property
    def until(self) -> float:
        """Where it ends: with the first orbit, or where the two have parted."""
        return float(self.t[-1])


def shadow(path: Path, first: Collocation, switched: set[float]) -> Shadow | None:
    """The second orbit; None where there is none.

    At the times of ``switched`` the first orbit may jump, and the second jumps as far.
    """
    old = first.radau
    new = Radau.of(max(int(ORBITS.shadow_points * old.s), 4), old.order)
    edges, half, z, jumps = _halved(path, old, new)
    second = _Second(Together(Collocation(path.line, new), edges, half, z), jumps)
    for n, window in enumerate(path.steps[:-1]):
        if window.stop in switched:
            second.jumps[2 * n + 1] = _jump(path, old, n)
    for _ in range(ORBITS.shadow_rounds):
        change = second.improve(path.sizes)
        if not np.isfinite(change):
            return None
        if change < ORBITS.exact:
            break
    return Shadow(second.function(), second.together.edges[1:], second.rounding())


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
        end = (first @ ends(old, g.order)) * before.half**-powers
        out.append((second[:, : g.order] * after.half**-powers - end).ravel())
    return np.concatenate(out)


@dataclass
class _Second:
    """The halves of all windows."""

    together: Together
    jumps: Array
    variances: Array = field(default_factory=lambda: np.empty((0, 0)))
    """Of what is handed on after each half, from rounding alone, (halves, states)."""

    def rounding(self) -> Array:
        """The standard deviations of the unknowns, (unknowns, halves); zero for algebraic ones."""
        line, first, out = self.together.collocation.line, 0, {}
        for g in line.groups:
            for i, k in enumerate(g.unknowns):
                place = first + i * g.order
                out[k] = np.sqrt(self.variances[:, place]) if g.order else np.zeros(len(self.variances))
            first += g.order * len(g.unknowns)
        return np.array([out[k] for k in sorted(out)])

    def function(self) -> tuple[Windows, Array]:
        t = self.together
        return function_of(t.edges, t.collocation.line, t.coefficients())

    def _large(self, sizes: Array) -> Array:
        """The size of what is handed on, as far as it is known: that of the unknowns themselves."""
        parts = []
        for g in self.together.collocation.line.groups:
            own = np.full((len(g.unknowns), g.order), np.inf)
            own[:, :1] = sizes[g.columns, None]
            parts.append(own.ravel())
        return np.concatenate(parts)

    def improve(self, sizes: Array) -> float:
        """One step of Newton's method for all halves; the largest change of an unknown, relative."""
        carried, before, change = np.zeros(self.jumps.shape[1]), None, 0.0
        large = self._large(sizes)
        covariance = np.zeros((len(carried), len(carried)))
        self.variances = np.zeros((len(self.together.half), len(carried)))
        for part in self.together.parts():
            low, found = part.start, self.together.linearised(part)
            if found is None:
                return np.inf
            states = np.empty((part.stop - low, len(carried)))
            end = found.end + found.pushed[..., 0]
            noise = (ORBITS.noise * np.maximum(np.abs(found.begun), np.abs(end))) ** 2
            for k in range(len(states)):
                if before is not None:
                    carried = before - found.begun[k]
                if not (np.abs(carried) < large).all():
                    self.together = self.together.until(low + k)
                    return self.improve(sizes)
                states[k] = carried
                P = found.transfer[k]
                before = end[k] + P @ carried
                covariance = P @ covariance @ P.T
                covariance.flat[:: len(carried) + 1] += noise[k]
                self.variances[low + k] = covariance.diagonal()
                if low + k < len(self.jumps):
                    before = before + self.jumps[low + k]
            delta = found.own[..., 0] + np.einsum("wnsq,wq->wns", found.influence, states)
            change = max(change, float((np.abs(delta).max(axis=2) / sizes).max()))
            self.together.move(part, delta, states)
        return change
