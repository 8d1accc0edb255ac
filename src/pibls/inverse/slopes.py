r"""g(x, J; θ) with ∂g/∂J and ∂g/∂θ: an expression, and how it varies with the solution and the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.problem import Datum, Form, Jet, Problem
from pibls.problem.forms.calling import call_at_points
from pibls.problem.forms.program import program


@dataclass(frozen=True)
class Varied:
    """One compiled expression of jets, coordinates and parameters, with its first derivatives."""

    jets: tuple[Jet, ...]
    data: tuple[Datum, ...]
    moving: tuple[int, ...]
    """The parameters it is differentiated by, by their place among all."""
    depends: bool
    """Whether any of those stands in it."""
    _function: Any

    @classmethod
    def of(cls, form: Form, moving: Sequence[int]) -> Varied:
        """The form r = Σ a J + ρ, differentiated by its jets and by these parameters."""
        v = form.variables
        marks = [sp.Symbol(f"pibls_l{i}", real=True) for i in range(len(form.linear))]
        whole = sp.Add(form.rest, *(a * m for (_, a), m in zip(form.linear, marks, strict=True)))
        symbols = [*marks, *(s for _, s in form.nonlinear)]
        by_jet = [*(a for _, a in form.linear), *form.partials]
        slopes = [sp.diff(whole, v.parameters[k]) for k in moving]
        arguments = [*v.coordinates, *v.normals, *v.parameters, *(d.symbol for d in form.data), *symbols]
        return cls(
            form.jets,
            form.data,
            tuple(moving),
            any(s != 0 for s in slopes),
            program(arguments, [whole, *by_jet, *slopes]),
        )

    def at(
        self, X: Array, normals: Array, parameters: Sequence[float], jets: Array
    ) -> tuple[Array, Array, Array]:
        """g (n,), ∂g/∂J (jets, n) and ∂g/∂θ (moving, n)."""
        data = [call_at_points(d, X, "data") for d in self.data]
        with np.errstate(all="ignore"):
            found = self._function(*X.T, *normals.T, *parameters, *data, *jets)
        out = np.empty((len(found), len(X)))
        for row, value in zip(out, found, strict=True):
            row[:] = np.real(value)
        k = 1 + len(self.jets)
        return out[0], out[1:k], out[k:]


def residual_slopes(problem: Problem, moving: Sequence[int]) -> Mapping[str, Varied]:
    """By name: the equations and conditions in which one of the moving parameters stands."""
    key = f"slopes {tuple(moving)}"
    if key not in problem.structure:
        found = {s.name: Varied.of(s.form, moving) for s in problem.statements if _has(s.form, moving)}
        problem.structure[key] = {name: v for name, v in found.items() if v.depends}
    out: Mapping[str, Varied] = problem.structure[key]
    return out


def _has(form: Form, moving: Sequence[int]) -> bool:
    symbols = {form.variables.parameters[k] for k in moving}
    return any(e.free_symbols & symbols for e in (form.rest, *(a for _, a in form.linear)))
