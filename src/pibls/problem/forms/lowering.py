r"""SymPy → NumPy: r = Σⱼ aⱼ(x) Jⱼ + ρ(x, J) as functions of point arrays.

The last step that sees SymPy. Each form is compiled once, with common subexpressions shared and the
parameters as further arguments; nothing symbolic happens in any loop after this.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.geometry import Domain
from pibls.problem.forms.calling import Datum, call_at_points
from pibls.problem.forms.checks import limited_depth
from pibls.problem.forms.form import Form, Jet
from pibls.problem.forms.program import program
from pibls.problem.interfaces.narrow import inner_of
from pibls.problem.problem import Problem
from pibls.problem.regions.on import Region


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
    parameters: tuple[float, ...] = ()
    """The values of the problem's parameters, further arguments of the four functions."""
    _inner: Any = None

    @property
    def jets(self) -> tuple[Jet, ...]:
        """All of them."""
        return (*self.linear, *self.nonlinear)

    def at(self, parameters: tuple[float, ...]) -> Residual:
        """The same residual at these values of the parameters."""
        return replace(self, parameters=parameters)

    def on(self, domain: Domain) -> Residual:
        """The same residual, its Python functions called inside this domain only."""
        return replace(self, data=tuple(replace(d, domain=domain) for d in self.data)) if self.data else self

    def coefficients(self, X: Array, normals: Array | None = None, data: Array | None = None) -> Array:
        """a_j(x), shape (number of linear jets, n); by default without normals, as inside."""
        normals = np.zeros_like(X) if normals is None else normals
        data = self.known_data(X) if data is None else data
        return self._evaluate(self._coefficients, len(self.linear), X, normals, data, _NO_JETS)

    def rest(self, X: Array, normals: Array, data: Array, jets: Array) -> Array:
        """ρ(x, J), shape (n,); ``jets`` holds the values of the nonlinear jets, (k, n)."""
        return np.asarray(self._evaluate(self._rest, 1, X, normals, data, jets)[0])

    def partials(self, X: Array, normals: Array, data: Array, jets: Array) -> Array:
        """∂ρ/∂J for the nonlinear jets, shape (k, n)."""
        return self._evaluate(self._partials, len(self.nonlinear), X, normals, data, jets)

    @property
    def is_constant(self) -> bool:
        """Whether all that is given are numbers."""
        return all(hasattr(f, "column") for f in (self._coefficients, self._rest, self._partials))

    def given(self, X: Array, normals: Array) -> Array:
        """All that is given and varies, (functions, n): coefficients, the source, and factors of ρ."""
        data, n = self.known_data(X), len(self.nonlinear)
        made = [(self._coefficients, len(self.linear), _NO_JETS), (self._rest, 1, np.zeros((n, len(X))))]
        made += [(self._partials, n, np.ones((n, len(X))))] if n else []
        varying = [m for m in made if not hasattr(m[0], "column")]
        rows = [self._evaluate(f, k, X, normals, data, jets) for f, k, jets in varying]
        return np.concatenate([np.empty((0, len(X))), *rows])

    def inner(self, X: Array) -> Array:
        """What stands inside of the functions that are given, (functions, n)."""
        if self._inner is None:
            return np.empty((0, len(X)))
        with np.errstate(all="ignore"):
            values = self._inner(*X.T, *self.parameters)
        return np.array([np.broadcast_to(np.real(v), len(X)) for v in values])

    def known_data(self, X: Array) -> Array:
        """The values of the Python functions in this residual at X, (number of functions, n)."""
        out = np.empty((len(self.data), len(X)))
        for row, datum in zip(out, self.data, strict=True):
            row[:] = call_at_points(datum, X, self.name)
        return out

    def _evaluate(
        self, function: Any, rows: int, X: Array, normals: Array, data: Array, jets: Array
    ) -> Array:
        column = getattr(function, "column", None)
        if column is not None:
            return np.repeat(column, len(X), axis=1)
        # Overflow and 0/0 are looked for in the result, where they can be explained.
        with np.errstate(all="ignore"):
            values = function(*X.T, *normals.T, *self.parameters, *data, *jets)
        out = np.empty((rows, len(X)))
        for row, value in zip(out, values, strict=True):
            if _is_complex(value):  # some functions answer so even where they are real
                value = np.where(np.imag(value) == 0, np.real(value), np.nan)
            row[:] = value
        return out


def _is_complex(value: Any) -> bool:
    """As np.iscomplexobj, which makes five calls of it: this is asked for every term at every solve."""
    kind = getattr(value, "dtype", None)
    return isinstance(value, complex) if kind is None else kind.kind == "c"


_NO_JETS = np.empty((0, 0))


@dataclass(frozen=True)
class Interfaces:
    """The planes where coefficients or sources jump or bend, and what is continuous across them."""

    planes: tuple[tuple[int, float], ...] = ()
    """(axis, level) of all of them."""
    jumping: frozenset[tuple[int, float]] = frozenset()
    """Those where a flux, and not the derivative, is continuous."""
    fluxes: tuple[tuple[int, int, Residual, bool], ...] = ()
    """(equation, axis, F, outermost): F of an equation ∂F/∂x_axis + … = 0; or of ∂²F, …, ∂(… ∂F)."""
    sources: tuple[tuple[int, tuple[int, float], Residual], ...] = ()
    """(equation, plane, strength) of the sources that live on a plane."""
    inside: bool = True
    """Whether the equations have any: data of a boundary that bend leave the solution smooth inside."""
    unlocated: float = 0.0
    """The height, relative to max|f|, of jumps of a Python function that could not be located."""


@dataclass(frozen=True)
class LoweredProblem:
    """All residuals of a problem, compiled."""

    residuals: tuple[Residual, ...]
    unknowns: int
    dimension: int
    interfaces: Interfaces = Interfaces()

    @property
    def is_linear(self) -> bool:
        return all(not r.nonlinear for r in self.residuals)

    @property
    def order(self) -> int:
        """That of the highest derivative."""
        return max((sum(j.alpha) for r in self.residuals for j in r.jets), default=0)

    def at(self, region: Region) -> list[Residual]:
        """The residuals of one region."""
        return [r for r in self.residuals if r.region == region]


def lower(problem: Problem) -> LoweredProblem:
    """Compile every statement of a problem, once for all values of its parameters."""
    if "compiled" not in problem.structure:
        with limited_depth("equations"):
            problem.structure["compiled"] = tuple(
                lower_form(s.form, s.region).on(problem.domain) for s in problem.statements
            )
    values = tuple(problem.parameters.values())
    return problem.once(
        "lowered",
        lambda: LoweredProblem(
            tuple(r.at(values) for r in problem.structure["compiled"]),
            len(problem.unknowns),
            len(problem.coordinates),
            _interfaces(problem, values),
        ),
    )


def _interfaces(problem: Problem, values: tuple[float, ...]) -> Interfaces:
    """Where the problem is not smooth, with the fluxes compiled."""
    breaks = problem.breaks
    unlocated = max((j.unlocated for j in problem.function_jumps), default=0.0)
    if not breaks:
        return Interfaces(unlocated=unlocated)
    inside = [s for s in problem.statements if s.region.is_inside]
    fluxes = tuple(
        (i, flux.axis, lower_form(flux.form, s.region).on(problem.domain).at(values), flux.outermost)
        for i, s in enumerate(inside)
        for flux in s.form.fluxes
    )
    sources = tuple(
        (i, (plane[0], level), lower_form(delta.strength, s.region).on(problem.domain).at(values))
        for i, s in enumerate(inside)
        for delta in s.form.deltas
        for plane, level in [(delta.planes[0], problem.level_of(delta))]
    )
    return Interfaces(
        tuple((p.axis, p.level) for p in breaks.planes),
        frozenset((p.axis, p.level) for p in breaks.planes if p.flux),
        fluxes,
        sources,
        problem.is_broken_inside,
        unlocated,
    )


def lower_form(form: Form, region: Region) -> Residual:
    """Compile one form: coefficients, rest and partials, each one NumPy function."""
    v = form.variables
    symbols = [*v.coordinates, *v.normals, *v.parameters, *(d.symbol for d in form.data)]
    jets = [s for _, s in form.nonlinear]
    given = [*(a for _, a in form.linear), form.rest, *form.partials]
    inner = inner_of(given, v.coordinates, v.parameters)
    return Residual(
        form.name,
        region,
        tuple(j for j, _ in form.linear),
        tuple(j for j, _ in form.nonlinear),
        form.data,
        program(symbols, [a for _, a in form.linear]),
        program([*symbols, *jets], [form.rest]),
        program([*symbols, *jets], form.partials),
        _inner=program([*v.coordinates, *v.parameters], inner) if inner else None,
    )
