r"""r = Σ a_j(x) ∂^α_j u + c(x) + ρ(x, ∂^α u): the statements of a problem as losses of DeepXDE.

Whatever does not depend on the network (a_j, c, boundary data) is evaluated once, in float64, at the
training points; a step of training only differentiates the network and evaluates ρ.
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

_FEW = 0.05


def posed(problem: Problem, points: Points, net: Any, seed: int) -> Any:
    """The problem as `dde.data.PDE`, on the same kind and number of points as PIBLS."""
    if len(problem.unknowns) != 1:
        raise CannotError("only problems with one unknown are translated")
    places = place(compile_problem(problem), problem.domain, points, np.random.default_rng(seed))
    inside = _distinct(places[Interior()])
    residuals, conditions = [], []
    for statement in problem.statements:
        if isinstance(statement.region, Interior):
            residuals.append(_Residual(statement.form, inside))
        else:
            conditions.append(_Condition(statement.form, _distinct(places[statement.region]), net))
    # DeepXDE differentiates at the points of the conditions too when they share the batch: worth it for
    # a few of them, which then cost no forward pass of their own.
    joined = sum(len(c.points) for c in conditions) <= _FEW * len(inside)
    for condition in conditions:
        condition.apart = not joined
    ahead = sum(len(c.points) for c in conditions) if joined else 0

    def equations(inputs: Any, outputs: Any) -> list[Any]:
        # DeepXDE drops the first rows, those of the conditions.
        found = [r(inputs, outputs, ahead) for r in residuals]
        return [torch.nn.functional.pad(f, (0, 0, ahead, 0)) if ahead else f for f in found]

    X = inside.sites[0]
    data = dde.data.PDE(dde.geometry.PointCloud(X), equations, conditions, anchors=X)
    data.sources = [float(torch.mean(torch.as_tensor(r.source) ** 2)) for r in residuals]
    return data


def weights_of(data: Any, relative: bool) -> list[float]:
    """A weight for each equation, then one for each condition.

    All 1; or the conditions weigh as much as the mean square of the source, if that is more than 1: an
    equation whose terms are large (50 u, u'' of a quick wave) would else drown them.
    """
    conditions = max(1.0, max(data.sources)) if relative else 1.0
    return [1.0] * len(data.sources) + [conditions] * len(data.bcs)


def normalised(net: Any, box: Array) -> Any:
    """The network with every coordinate mapped to [-1, 1] before the first layer."""
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
        jets = [s for _, s in form.nonlinear]
        source, rest = form.rest.as_independent(*jets, as_Add=True) if jets else (form.rest, sp.Integer(0))
        columns = [*points.sites[0].T, *points.normals.T]
        self.linear = [(jet, _constant(symbols, a, columns, self.size)) for jet, a in form.linear]
        self.source = _constant(symbols, source, columns, self.size)
        self.nonlinear = [jet for jet, _ in form.nonlinear]
        self.columns = [_tensor(np.asarray(c)[:, None]) for c in columns]
        self.rest = sp.lambdify([*symbols, *jets], rest, modules="torch", cse=True) if jets else None

    def __call__(self, inputs: Any, outputs: Any, first: int) -> Any:
        """The residual (n, 1), from the rows of the batch that begin with ``first``."""

        def value(jet: Any) -> Any:
            start = first + jet.site * self.size
            return _derivative(outputs, inputs, jet.alpha)[start : start + self.size]

        total = self.source
        for jet, a in self.linear:
            total = total + a * value(jet)
        if self.rest is not None:
            total = total + self.rest(*self.columns, *(value(jet) for jet in self.nonlinear))
        return total


class _Condition:
    """B[u] = g in the place of one of DeepXDE's boundary conditions (the same two methods).

    With ``apart`` its points get a forward pass of their own: the derivatives that the equation needs
    are then not taken at points where nothing needs them.
    """

    def __init__(self, form: Form, points: PointSet, net: Any) -> None:
        self.residual = _Residual(form, points)
        self.points = np.concatenate(points.sites).astype(dde.config.real(np))
        self.net = net
        self.apart = True

    def collocation_points(self, X: Array) -> Array:
        """The points that DeepXDE is to put into its batch."""
        return self.points[:0] if self.apart else self.points

    def error(self, X: Array, inputs: Any, outputs: Any, beg: int, end: int, aux_var: Any = None) -> Any:
        """The residual of the condition, (n, 1)."""
        if not self.apart:
            return self.residual(inputs, outputs, beg)
        own = torch.as_tensor(self.points).requires_grad_()
        return self.residual(own, self.net(own), 0)


def _derivative(outputs: Any, inputs: Any, alpha: MultiIndex) -> Any:
    """∂^α u, one derivative at a time; DeepXDE remembers those that it has taken in this step."""
    found = outputs
    for axis, order in enumerate(alpha):
        for _ in range(order):
            found = dde.grad.jacobian(found, inputs, i=0, j=axis)
    return found


def _distinct(points: PointSet) -> PointSet:
    """Without repetitions: a mean of squares over repeated end points is the one over the two ends."""
    rows = np.column_stack([*points.sites, points.normals])
    _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    if len(first) == len(rows) or len(set(counts.tolist())) > 1:
        return points
    keep = np.sort(first)
    return PointSet(tuple(site[keep] for site in points.sites), points.normals[keep])


def _constant(symbols: Sequence[Any], expression: Any, columns: Sequence[Array], size: int) -> Any:
    """The values of an expression at the points, or one number."""
    if expression.is_number:
        return float(expression)
    values = sp.lambdify(symbols, expression, modules="numpy", cse=True)(*columns)
    return _tensor(np.broadcast_to(values, (size,))[:, None])


def _tensor(values: Array) -> Any:
    return torch.tensor(np.ascontiguousarray(values), dtype=dde.config.real(torch))
