r"""u⁽ʲ⁾(t₀), j < m: what an ordinary problem begins with, and what a kick changes on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.adaptive.evolution import Evolution
from pibls.adaptive.thresholds import ORBITS
from pibls.arrays import Array
from pibls.assembly.evolutions.line import Group, Line
from pibls.nonlinear.collocation import Settled
from pibls.problem.forms.lowering import LoweredProblem, Residual


@dataclass(frozen=True)
class InitialValues:
    """u⁽ʲ⁾(t₀), (unknowns, m) for each group."""

    state: tuple[Array, ...]
    conditions: Array
    """What each condition asks of them, (conditions, states)."""

    def moved(self, rows: Array) -> Array:
        """How they change where the conditions change by ``rows`` (conditions, q), (states, q)."""
        scale = np.abs(self.conditions).max(axis=1, keepdims=True, initial=0.0)
        return np.asarray(-np.linalg.solve(self.conditions / scale, rows / scale))


def beginning_of(lowered: LoweredProblem, e: Evolution, groups: Sequence[Group]) -> InitialValues | None:
    """The values that the conditions at the start give; None where they are not values to be had that way."""
    place = {
        (k, j): (i, row, j)
        for i, g in enumerate(groups)
        for row, k in enumerate(g.unknowns)
        for j in range(g.order)
    }
    entries = {key: n for n, key in enumerate(place)}
    A, b = np.zeros((len(entries), len(entries))), np.zeros(len(entries))
    X = np.array([[e.start]])
    for row, i in enumerate(e.beginning):
        r = lowered.residuals[i]
        if r.nonlinear or any((j.unknown, j.alpha[0]) not in entries for j in r.linear):
            return None
        data = r.known_data(X)
        for jet, c in zip(r.linear, r.coefficients(X, np.zeros((1, 1)), data)[:, 0], strict=True):
            A[row, entries[jet.unknown, jet.alpha[0]]] += c
        b[row] = -r.rest(X, np.zeros((1, 1)), data, np.empty((0, 1)))[0]
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        return None
    scale = np.abs(A).max(axis=1, initial=0.0)
    if not (scale > 0).all() or np.linalg.cond(A / scale[:, None]) > 1.0 / ORBITS.independent:
        return None
    found = np.linalg.solve(A / scale[:, None], b / scale)
    state = tuple(np.zeros((len(g.unknowns), g.order)) for g in groups)
    for key, n in entries.items():
        i, row, j = place[key]
        state[i][row, j] = found[n]
    return InitialValues(state, A)


@dataclass(frozen=True)
class Kick:
    """A time at which something switches; ``sources``, (equation, strength), live on that moment alone."""

    t: float
    line: Line
    sources: tuple[tuple[int, Residual], ...] = ()
    forward: bool = True

    def after(self, state: tuple[Array, ...], settled: Settled) -> tuple[Array, ...]:
        """F + s δ(t - t*) = 0: the derivatives below the highest jump by what s asks for."""
        if not self.sources:
            return state
        line, X = self.line, np.array([[self.t]])
        held = line.held(np.array([np.nextafter(self.t, settled.piece.start)]))
        n = settled.U.shape[1] // 2 - 1  # the end of the window is the last of its points
        G = line.slopes(held, settled.U[:, n : n + 1], 1)[:, :, 0]
        M = np.concatenate(
            [G[:, g.rows].reshape(len(G), -1, g.order + 1)[:, :, -1] for g in line.groups], axis=1
        )
        s = np.zeros(len(G))
        for e, strength in self.sources:
            s[e] += strength.rest(X, np.zeros_like(X), strength.known_data(X), np.empty((0, 1)))[0]
        jump = np.linalg.solve(M, s if not self.forward else -s)
        out = []
        for g, old in zip(line.groups, state, strict=True):
            new = old.copy()
            if g.order:
                new[:, -1] += jump[g.columns]
            out.append(new)
        return tuple(out)


def kicks_of(lowered: LoweredProblem, e: Evolution, line: Line) -> tuple[Kick, ...]:
    """All times at which something switches."""
    faces = lowered.interfaces
    out = []
    for plane in faces.planes:
        if plane[0] != e.axis:
            continue
        sources = tuple((i, strength) for i, where, strength in faces.sources if where == plane)
        out.append(Kick(plane[1], line, sources, e.forward))
    return tuple(out)
