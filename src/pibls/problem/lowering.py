r"""SymPy → NumPy: r = Σⱼ aⱼ(x) Jⱼ + ρ(x, J) as functions of point arrays.

The last step that sees SymPy. Each form is compiled once, with common subexpressions shared;
nothing symbolic happens in any loop after this.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.problem.form import Datum, Form, Jet
from pibls.problem.problem import Problem
from pibls.problem.region import Region

_ELEMENTARY = (
    sp.exp, sp.log, sp.sin, sp.cos, sp.tan, sp.asin, sp.acos, sp.atan, sp.atan2, sp.sinh, sp.cosh,
    sp.tanh, sp.asinh, sp.acosh, sp.atanh, sp.Abs, sp.sign, sp.floor, sp.ceiling, sp.Max, sp.Min,
    sp.Heaviside, sp.Piecewise, sp.sinc, sp.cot, sp.sec, sp.csc,
)  # fmt: skip
"""What NumPy can evaluate by itself; everything else needs SciPy's special functions."""


@dataclass(frozen=True)
class Residual:
    """One compiled residual: ``linear`` jets with coefficients, ``nonlinear`` jets in ρ."""

    name: str
    region: Region
    linear: tuple[Jet, ...]
    nonlinear: tuple[Jet, ...]
    data: tuple[Datum, ...]
    _coefficients: Any
    _rest: Any
    _partials: Any

    def coefficients(self, X: Array, normals: Array, data: Array) -> Array:
        """a_j(x), shape (number of linear jets, n)."""
        return self._evaluate(self._coefficients, len(self.linear), X, normals, data, _NO_JETS)

    def rest(self, X: Array, normals: Array, data: Array, jets: Array) -> Array:
        """ρ(x, J), shape (n,); ``jets`` holds the values of the nonlinear jets, (k, n)."""
        return np.asarray(self._evaluate(self._rest, 1, X, normals, data, jets)[0])

    def partials(self, X: Array, normals: Array, data: Array, jets: Array) -> Array:
        """∂ρ/∂J for the nonlinear jets, shape (k, n)."""
        return self._evaluate(self._partials, len(self.nonlinear), X, normals, data, jets)

    def known_data(self, X: Array) -> Array:
        """The values of the Python functions in this residual at X, (number of functions, n)."""
        out = np.empty((len(self.data), len(X)))
        for row, datum in zip(out, self.data, strict=True):
            row[:] = call_at_points(datum, X, self.name)
        return out

    def _evaluate(
        self, function: Any, rows: int, X: Array, normals: Array, data: Array, jets: Array
    ) -> Array:
        # Overflow and 0/0 are looked for in the result, where they can be explained.
        with np.errstate(all="ignore"):
            values = function(*X.T, *normals.T, *data, *jets)
        out = np.empty((rows, len(X)))
        for row, value in zip(out, values, strict=True):
            if np.iscomplexobj(value):  # some functions answer so even where they are real
                value = np.where(np.imag(value) == 0, np.real(value), np.nan)
            row[:] = value
        return out


_NO_JETS = np.empty((0, 0))


@dataclass(frozen=True)
class LoweredProblem:
    """All residuals of a problem, compiled."""

    residuals: tuple[Residual, ...]
    unknowns: int
    dimension: int

    @property
    def is_linear(self) -> bool:
        return all(not r.nonlinear for r in self.residuals)


def lower(problem: Problem) -> LoweredProblem:
    """Compile every statement of a problem, once."""
    if "lowered" not in problem.derived:
        residuals = tuple(lower_form(s.form, s.region) for s in problem.statements)
        problem.derived["lowered"] = LoweredProblem(
            residuals, len(problem.unknowns), len(problem.coordinates)
        )
    found: LoweredProblem = problem.derived["lowered"]
    return found


def lower_form(form: Form, region: Region) -> Residual:
    """Compile one form: coefficients, rest and partials, each one NumPy function."""
    symbols = [*form.variables.coordinates, *form.variables.normals, *(d.symbol for d in form.data)]
    jets = [s for _, s in form.nonlinear]
    coefficients = [a for _, a in form.linear]
    partials = [sp.diff(form.rest, s) for s in jets]
    return Residual(
        form.name,
        region,
        tuple(j for j, _ in form.linear),
        tuple(j for j, _ in form.nonlinear),
        form.data,
        _compile(symbols, coefficients),
        _compile([*symbols, *jets], [form.rest]),
        _compile([*symbols, *jets], partials),
    )


def _compile(arguments: list[Any], expressions: list[Any]) -> Any:
    if all(e.is_number for e in expressions):
        constants = [float(e) for e in expressions]
        return lambda *_: constants
    special = any(not isinstance(f, _ELEMENTARY) for e in expressions for f in e.atoms(sp.Function))
    return sp.lambdify(arguments, expressions, modules=["scipy", "numpy"] if special else ["numpy"], cse=True)


def call_at_points(datum: Datum, X: Array, where: str) -> Array:
    """The user's function at the points: called once, its answer checked at the door."""
    columns = [X[:, i].copy() for i in datum.arguments]  # a function that writes must not move the points
    argument = f"{where}: {datum.name}"
    try:
        inspect.signature(datum.function).bind(*columns)
    except TypeError:
        raise ProblemError(
            argument,
            expected=f"a callable of {len(columns)} coordinate array(s)",
            got=f"one with the signature {inspect.signature(datum.function)}",
            remedy="Give it one argument per coordinate of the domain, in the domain's order.",
        ) from None
    except ValueError:
        pass  # Some built-in callables have no signature; calling them will tell.
    try:
        value = np.asarray(datum.function(*columns))
        if value.dtype.kind not in "fiubO":
            raise TypeError(f"values of the type {value.dtype}")
        value = value.astype(float)
    except Exception as problem:
        raise ProblemError(
            argument,
            expected="a callable that takes arrays and returns real numbers",
            got=f"{type(problem).__name__}: {problem}",
            remedy="Write it with NumPy functions, which work on whole arrays.",
        ) from problem
    if value.shape not in ((), (1,), (len(X),)):
        raise ProblemError(
            argument,
            expected=f"values of the shape ({len(X)},), one per point",
            got=f"shape {value.shape}",
            remedy="Return one number per point, or a single number.",
        )
    return np.broadcast_to(value, (len(X),))
