r"""Initial values u⁽ʲ⁾(t₀), j < m, of an ordinary differential equation, and impulses that change its
state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pibls.analysis.evolution import Evolution
from pibls.arrays import Array
from pibls.assembly.evolutions.ode_equations import ODESystem, OrderGroup
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.time.ode.collocation import ConvergedWindow
from pibls.time.thresholds import ODE


@dataclass(frozen=True)
class InitialValues:
    """Initial values u⁽ʲ⁾(t₀), an array (unknowns, m) for each group of unknowns of order m."""

    state: tuple[Array, ...]
    conditions: Array
    """Coefficients of the initial conditions, (conditions, states)."""

    def changes(self, rows: Array) -> Array:
        """Return changes (states, q) of the initial values for changes (conditions, q) of the conditions."""
        scale = np.abs(self.conditions).max(axis=1, keepdims=True, initial=0.0)
        return np.asarray(-np.linalg.solve(self.conditions / scale, rows / scale))


def initial_values(
    compiled: CompiledProblem, e: Evolution, groups: Sequence[OrderGroup]
) -> InitialValues | None:
    """Solve the initial conditions; None if they are nonlinear or (nearly) dependent."""
    position = {
        (k, j): (i, row, j)
        for i, g in enumerate(groups)
        for row, k in enumerate(g.unknowns)
        for j in range(g.order)
    }
    entries = {key: n for n, key in enumerate(position)}
    A, b = np.zeros((len(entries), len(entries))), np.zeros(len(entries))
    X = np.array([[e.start]])
    for row, i in enumerate(e.initial_conditions):
        r = compiled.residuals[i]
        if r.nonlinear or any((j.unknown, j.alpha[0]) not in entries for j in r.linear):
            return None
        data = r.data_function_values(X)
        for derivative, c in zip(r.linear, r.coefficients(X, np.zeros((1, 1)), data)[:, 0], strict=True):
            A[row, entries[derivative.unknown, derivative.alpha[0]]] += c
        b[row] = -r.rest(X, np.zeros((1, 1)), data, np.empty((0, 1)))[0]
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        return None
    scale = np.abs(A).max(axis=1, initial=0.0)
    if not (scale > 0).all() or np.linalg.cond(A / scale[:, None]) > 1.0 / ODE.min_reciprocal_condition:
        return None
    found = np.linalg.solve(A / scale[:, None], b / scale)
    state = tuple(np.zeros((len(g.unknowns), g.order)) for g in groups)
    for key, n in entries.items():
        i, row, j = position[key]
        state[i][row, j] = found[n]
    return InitialValues(state, A)


@dataclass(frozen=True)
class Impulse:
    """A switching time, with Dirac sources (equation, strength) at that time."""

    t: float
    equations: ODESystem
    sources: tuple[tuple[int, Residual], ...] = ()
    forward: bool = True

    def after(self, state: tuple[Array, ...], converged: ConvergedWindow) -> tuple[Array, ...]:
        """Return the state after F + s δ(t - t*) = 0: the highest derivative below the order jumps."""
        if not self.sources:
            return state
        equations, X = self.equations, np.array([[self.t]])
        tables = equations.tables(np.array([np.nextafter(self.t, converged.window.start)]))
        n = converged.U.shape[1] // 2 - 1  # the last collocation point is the end of the window
        G = equations.jacobian(tables, converged.U[:, n : n + 1], 1)[:, :, 0]
        M = np.concatenate(
            [G[:, g.rows].reshape(len(G), -1, g.order + 1)[:, :, -1] for g in equations.groups], axis=1
        )
        s = np.zeros(len(G))
        for e, strength in self.sources:
            s[e] += strength.rest(X, np.zeros_like(X), strength.data_function_values(X), np.empty((0, 1)))[0]
        jump = np.linalg.solve(M, s if not self.forward else -s)
        out = []
        for g, old in zip(equations.groups, state, strict=True):
            new = old.copy()
            if g.order:
                new[:, -1] += jump[g.columns]
            out.append(new)
        return tuple(out)


def impulses(compiled: CompiledProblem, e: Evolution, equations: ODESystem) -> tuple[Impulse, ...]:
    """Return the switching times of a problem with their Dirac sources."""
    faces = compiled.interfaces
    out = []
    for plane in faces.planes:
        if plane[0] != e.axis:
            continue
        sources = tuple((i, strength) for i, where, strength in faces.sources if where == plane)
        out.append(Impulse(plane[1], equations, sources, e.forward))
    return tuple(out)
