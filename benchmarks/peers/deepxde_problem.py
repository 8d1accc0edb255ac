r"""Translation of a problem into losses of DeepXDE: r = Σ a_j(x) ∂^α_j u + c(x) + ρ(x, ∂^α u).

Terms that do not depend on the network (a_j, c, boundary data) are evaluated once, in float64, at the
training points; a training step only differentiates the network and evaluates ρ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import deepxde as dde
import numpy as np
import sympy as sp
import torch

from benchmarks.peers.adapter import CannotError
from pibls.arrays import Array, MultiIndex
from pibls.assembly.points import Points, PointSet, place
from pibls.problem import Form, Interior, Problem
from pibls.problem.forms.compilation import compile_problem

_MAX_SHARED_FRACTION = 0.05


def build_pde(problem: Problem, points: Points, net: Any, seed: int) -> Any:
    """Return the problem as `dde.data.PDE`, with the same rule and number of points as PIBLS."""
    if len(problem.unknowns) != 1:
        raise CannotError("only problems with one unknown are translated")
    placed = place(compile_problem(problem), problem.domain, points, np.random.default_rng(seed))
    inside = _distinct(placed[Interior()])
    residuals, conditions = [], []
    for statement in problem.statements:
        if isinstance(statement.region, Interior):
            residuals.append(_Residual(statement.form, inside))
        else:
            conditions.append(_Condition(statement.form, _distinct(placed[statement.region]), net))
    # In a shared batch DeepXDE also differentiates at the points of the conditions. For few points that is
    # cheaper than a separate forward pass.
    joined = sum(len(c.points) for c in conditions) <= _MAX_SHARED_FRACTION * len(inside)
    for condition in conditions:
        condition.apart = not joined
    condition_rows = sum(len(c.points) for c in conditions) if joined else 0

    def equations(inputs: Any, outputs: Any) -> list[Any]:
        # DeepXDE drops the first rows, which belong to the conditions.
        found = [r(inputs, outputs, condition_rows) for r in residuals]
        return [torch.nn.functional.pad(f, (0, 0, condition_rows, 0)) if condition_rows else f for f in found]

    X = inside.sites[0]
    data = dde.data.PDE(dde.geometry.PointCloud(X), equations, conditions, anchors=X)
    data.sources = [float(torch.mean(torch.as_tensor(r.source) ** 2)) for r in residuals]
    return data


def loss_weights(data: Any, relative: bool) -> list[float]:
    """Return one weight per equation, then one per condition.

    All are 1; with ``relative`` the conditions have the mean square of the source as weight, if that is above
    1. Otherwise an equation with large terms (50 u, u'' of an oscillating u) would dominate the loss.
    """
    conditions = max(1.0, max(data.sources)) if relative else 1.0
    return [1.0] * len(data.sources) + [conditions] * len(data.bcs)


def with_mapped_inputs(net: Any, box: Array) -> Any:
    """Return the network with all coordinates mapped to [-1, 1] before the first layer."""
    middle = torch.as_tensor(box.mean(axis=1), dtype=dde.config.real(torch))
    half = torch.as_tensor((box[:, 1] - box[:, 0]) / 2, dtype=dde.config.real(torch))
    net.apply_feature_transform(lambda x: (x - middle) / half)
    return net


class _Residual:
    """One form at fixed points, as a function of the network's inputs and outputs."""

    def __init__(self, form: Form, points: PointSet) -> None:
        if form.data:
            raise CannotError("Python functions in the equations are not translated")
        self.size = len(points)
        symbols = [*form.variables.coordinates, *form.variables.normals]
        derivatives = [s for _, s in form.nonlinear]
        source, rest = (
            form.rest.as_independent(*derivatives, as_Add=True) if derivatives else (form.rest, sp.Integer(0))
        )
        columns = [*points.sites[0].T, *points.normals.T]
        self.linear = [
            (derivative, _constant(symbols, a, columns, self.size)) for derivative, a in form.linear
        ]
        self.source = _constant(symbols, source, columns, self.size)
        self.nonlinear = [derivative for derivative, _ in form.nonlinear]
        self.columns = [_tensor(np.asarray(c)[:, None]) for c in columns]
        self.rest = (
            sp.lambdify([*symbols, *derivatives], rest, modules="torch", cse=True) if derivatives else None
        )

    def __call__(self, inputs: Any, outputs: Any, first: int) -> Any:
        """Return the residual (n, 1) from the rows of the batch starting at ``first``."""

        def value(derivative: Any) -> Any:
            start = first + derivative.site * self.size
            return _derivative(outputs, inputs, derivative.alpha)[start : start + self.size]

        total = self.source
        for derivative, a in self.linear:
            total = total + a * value(derivative)
        if self.rest is not None:
            total = total + self.rest(*self.columns, *(value(derivative) for derivative in self.nonlinear))
        return total


class _Condition:
    """Condition B[u] = g with the interface of a DeepXDE boundary condition (two methods).

    With ``apart`` its points have a separate forward pass, without the derivatives that only the equation
    needs.
    """

    def __init__(self, form: Form, points: PointSet, net: Any) -> None:
        self.residual = _Residual(form, points)
        self.points = np.concatenate(points.sites).astype(dde.config.real(np))
        self.net = net
        self.apart = True

    def collocation_points(self, X: Array) -> Array:
        """Return the points that DeepXDE adds to its batch."""
        return self.points[:0] if self.apart else self.points

    def error(self, X: Array, inputs: Any, outputs: Any, beg: int, end: int, aux_var: Any = None) -> Any:
        """Return the residual of the condition, shape (n, 1)."""
        if not self.apart:
            return self.residual(inputs, outputs, beg)
        own = torch.as_tensor(self.points).requires_grad_()
        return self.residual(own, self.net(own), 0)


def _derivative(outputs: Any, inputs: Any, alpha: MultiIndex) -> Any:
    """Return ∂^α u by repeated first derivatives, which DeepXDE caches within a step."""
    found = outputs
    for axis, order in enumerate(alpha):
        for _ in range(order):
            found = dde.grad.jacobian(found, inputs, i=0, j=axis)
    return found


def _distinct(points: PointSet) -> PointSet:
    """Return the points without repetitions, if all are repeated equally often (same mean square)."""
    rows = np.column_stack([*points.sites, points.normals])
    _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    if len(first) == len(rows) or len(set(counts.tolist())) > 1:
        return points
    keep = np.sort(first)
    return PointSet(tuple(site[keep] for site in points.sites), points.normals[keep])


def _constant(symbols: Sequence[Any], expression: Any, columns: Sequence[Array], size: int) -> Any:
    """Return the values of an expression at the points, or one number if it is constant."""
    if expression.is_number:
        return float(expression)
    values = sp.lambdify(symbols, expression, modules="numpy", cse=True)(*columns)
    return _tensor(np.broadcast_to(values, (size,))[:, None])


def _tensor(values: Array) -> Any:
    return torch.tensor(np.ascontiguousarray(values), dtype=dde.config.real(torch))
