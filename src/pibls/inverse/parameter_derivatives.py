r"""Compiled expressions g(x, J; θ) with their derivatives ∂g/∂J and ∂g/∂θ.

J are the unknowns and their partial derivatives, θ the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from pibls.arrays import Array, PointFunction
from pibls.problem import DataFunction, Form, PartialDerivative, Problem
from pibls.problem.forms.compiled_expressions import compile_expressions
from pibls.problem.forms.data_functions import call_at_points


@dataclass(frozen=True)
class DifferentiatedExpression:
    """A compiled expression of derivatives J, coordinates and parameters, with its first derivatives."""

    derivatives: tuple[PartialDerivative, ...]
    data: tuple[DataFunction, ...]
    parameter_indices: tuple[int, ...]
    """The parameters of the derivatives, as indices into all parameters."""
    depends_on_parameters: bool
    """Whether the expression depends on any of these."""
    _function: PointFunction

    @classmethod
    def of(cls, form: Form, parameter_indices: Sequence[int]) -> DifferentiatedExpression:
        """Return the form r = Σ a J + ρ, differentiated by its derivatives J and by these parameters."""
        v = form.variables
        marks = [sp.Symbol(f"pibls_l{i}", real=True) for i in range(len(form.linear))]
        whole = sp.Add(form.rest, *(a * m for (_, a), m in zip(form.linear, marks, strict=True)))
        symbols = [*marks, *(s for _, s in form.nonlinear)]
        by_derivative = [*(a for _, a in form.linear), *form.partials]
        slopes = [sp.diff(whole, v.parameters[k]) for k in parameter_indices]
        arguments = [*v.coordinates, *v.normals, *v.parameters, *(d.symbol for d in form.data), *symbols]
        return cls(
            form.derivatives,
            form.data,
            tuple(parameter_indices),
            any(s != 0 for s in slopes),
            compile_expressions(arguments, [whole, *by_derivative, *slopes]),
        )

    def at(
        self, X: Array, normals: Array, parameters: Sequence[float], derivatives: Array
    ) -> tuple[Array, Array, Array]:
        """Return g (n,), ∂g/∂J (derivatives, n) and ∂g/∂θ (parameters, n)."""
        data = [call_at_points(d, X, "data") for d in self.data]
        with np.errstate(all="ignore"):
            found = self._function(*X.T, *normals.T, *parameters, *data, *derivatives)
        out = np.empty((len(found), len(X)))
        for row, value in zip(out, found, strict=True):
            row[:] = np.real(value)
        k = 1 + len(self.derivatives)
        return out[0], out[1:k], out[k:]


def residual_derivatives(
    problem: Problem, parameter_indices: Sequence[int]
) -> Mapping[str, DifferentiatedExpression]:
    """Return, by name, the equations and conditions that depend on the given parameters."""
    indices = tuple(parameter_indices)
    return problem.symbolic_memo(_differentiate, problem, indices, key=indices)


def _differentiate(
    problem: Problem, parameter_indices: tuple[int, ...]
) -> Mapping[str, DifferentiatedExpression]:
    found = {
        s.name: DifferentiatedExpression.of(s.form, parameter_indices)
        for s in problem.statements
        if _depends_on(s.form, parameter_indices)
    }
    return {name: v for name, v in found.items() if v.depends_on_parameters}


def _depends_on(form: Form, parameter_indices: Sequence[int]) -> bool:
    symbols = {form.variables.parameters[k] for k in parameter_indices}
    return any(e.free_symbols & symbols for e in (form.rest, *(a for _, a in form.linear)))
