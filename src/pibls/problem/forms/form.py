r"""r = Σⱼ aⱼ(x) Jⱼ + ρ(x, J): one residual, split into a linear and a nonlinear part.

Every derivative ∂^α u that stands in an equation becomes a *jet symbol* J. Partials ∂r/∂J that hold
no jet symbol are the coefficients aⱼ; the rest ρ keeps the other jets, and its partials give the
Jacobian. An equation is linear when ρ holds no jet: that is found out (`split`), never declared. Where
something stands under an outer derivative, r = ∂F + …, the form keeps F beside the expanded residual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import MultiIndex
from pibls.errors import ProblemError
from pibls.problem.conditions import dn
from pibls.problem.forms.calling import Datum
from pibls.problem.forms.checks import check_partials, check_terms
from pibls.problem.forms.flux import Orders, expanded, fluxes_in, given_fluxes, orders_in, written_out
from pibls.problem.forms.functions import replaced
from pibls.problem.forms.interface_fluxes import interface_fluxes
from pibls.problem.forms.known import breaks_named, implementation, is_known, is_shape
from pibls.problem.forms.split import split
from pibls.problem.forms.terms import evaluated, renamed
from pibls.problem.interfaces.switches import Switch, point_sources, switches_in


@dataclass(frozen=True)
class Jet:
    """∂^alpha of unknown number ``unknown``, at site number ``site`` of the row.

    A row usually has one site, its point; a periodic row has two.
    """

    unknown: int
    alpha: MultiIndex
    site: int = 0


@dataclass(frozen=True)
class Variables:
    """The internal symbols: coordinates, normal components, parameters. All real, for SymPy's sake."""

    coordinates: tuple[Any, ...]
    normals: tuple[Any, ...]
    parameters: tuple[Any, ...] = ()

    @classmethod
    @cache
    def of_dimension(cls, d: int, parameters: int = 0) -> Variables:
        return cls(
            tuple(sp.Symbol(f"pibls_x{i}", real=True) for i in range(d)),
            tuple(sp.Symbol(f"pibls_n{i}", real=True) for i in range(d)),
            tuple(sp.Symbol(f"pibls_p{i}", real=True) for i in range(parameters)),
        )


@dataclass(frozen=True)
class Form:
    """r = Σ a J + ρ, with the jets of the linear part and of ρ."""

    name: str
    variables: Variables
    linear: tuple[tuple[Jet, Any], ...]
    nonlinear: tuple[tuple[Jet, Any], ...]
    """Jets of ρ with their symbols."""
    rest: Any
    data: tuple[Datum, ...] = ()
    partials: tuple[Any, ...] = ()
    """∂ρ/∂J for the jets of ρ."""
    switches: tuple[Switch, ...] = ()
    """Where coefficients and sources bend or jump."""
    deltas: tuple[Delta, ...] = ()
    """Sources on planes and at points, which ρ does not hold."""
    fluxes: tuple[Flux, ...] = ()
    """What the statement keeps together under an outer derivative."""
    outside: Form | None = None
    """The statement without its fluxes, where it has some."""

    @property
    def is_linear(self) -> bool:
        return not self.nonlinear

    @property
    def jets(self) -> tuple[Jet, ...]:
        return tuple(jet for jet, _ in (*self.linear, *self.nonlinear))

    @property
    def slopes(self) -> tuple[tuple[Jet, Any], ...]:
        """∂r/∂J of every jet."""
        return (*self.linear, *((j, p) for (j, _), p in zip(self.nonlinear, self.partials, strict=True)))

    @property
    def needs_normal(self) -> bool:
        expressions = [self.rest, *(a for _, a in self.linear)]
        return any(e.has(*self.variables.normals) for e in expressions if self.variables.normals)


@dataclass(frozen=True)
class Flux:
    """F in r = ∂F/∂x_axis + …: continuous across a plane normal to that axis, whatever jumps in it."""

    axis: int
    form: Form
    outermost: bool = True
    """Whether it stands under one derivative alone: that is what jumps by the strength of a source."""
    alone: bool = False
    """Whether it was written without its factor, so that n·F of several has no meaning."""


@dataclass(frozen=True)
class Delta:
    """s(x, J) Π δ(x_axis - level): a source on a plane, or at a point where several planes meet."""

    planes: tuple[tuple[int, Any], ...]
    """(axis, level); levels are expressions in the internal symbols of the parameters."""
    strength: Form


@dataclass(frozen=True)
class Language:
    """What the words of a problem mean: its coordinates, its time, its unknowns, its parameters."""

    coordinates: tuple[Any, ...]
    time: Any
    unknowns: tuple[Any, ...]
    parameters: tuple[Any, ...] = ()
    functions: tuple[tuple[Any, Any], ...] = ()
    """Functions that have values, with these."""

    @property
    def variables(self) -> Variables:
        """The internal symbols for them."""
        return Variables.of_dimension(len(self.coordinates), len(self.parameters))

    @property
    def space(self) -> tuple[Any, ...]:
        """The coordinates without time."""
        return tuple(c for c in self.coordinates if c != self.time)

    def form(self, residual: Any, name: str, orders: Orders | None = None) -> Form:
        """The form of one residual expression; raises ProblemError where it cannot be understood.

        ``orders`` are those of the unknowns in all equations together, by default in this one alone.
        """
        expression = written_out(_in_range(replaced(residual, self.functions)), self.space, name)
        expression = self._expand_normals(expression, self.variables)
        fluxes = given_fluxes(expression)
        if not fluxes:
            return self._read(expression, name)
        _check_smooth(fluxes, name)
        form = self._read(expression.xreplace({f: expanded(f) for f in fluxes}), name)
        outside = self._read(expression.xreplace(dict.fromkeys(fluxes, sp.Integer(0))), name)
        orders = orders_in([expression], self.coordinates) if orders is None else orders
        parts = interface_fluxes(expression, self.coordinates, orders, name)
        held = tuple(
            Flux(p.axis, self._read(_flat(p.expression), "flux"), p.outermost, p.alone) for p in parts
        )
        switches = dict.fromkeys((*form.switches, *(s for f in held for s in f.form.switches)))
        return replace(form, fluxes=held, outside=outside, switches=tuple(switches))

    def _read(self, expression: Any, name: str) -> Form:
        """The form of an expression without fluxes."""
        variables = self.variables
        expression = self._as_real(evaluated(expression), variables)
        check_terms(expression, name)
        self._check_data(expression, name)
        expression, jets = self._replace_jets(expression, name)
        expression, data = self._replace_data(expression)
        inside = (*variables.coordinates, *variables.parameters)
        names = dict(zip((*self.coordinates, *self.parameters), inside, strict=True))
        expression = renamed(expression, names)
        self._check_symbols(expression, jets, data, variables, name)
        smooth, points = point_sources(expression, variables.coordinates, self.coordinates, name)
        switches = switches_in(expression, variables.coordinates, jets)
        deltas = tuple(
            Delta(planes, _form("strength", variables, s, jets, data)) for planes, s in points.items()
        )
        return replace(_form(name, variables, smooth, jets, data), switches=switches, deltas=deltas)

    def _as_real(self, expression: Any, variables: Variables) -> Any:
        """Without re(x), im(x) and their derivatives, which |x| brings in for a symbol not declared real."""
        bad = [t for t in expression.atoms(sp.re, sp.im, sp.Derivative) if not t.atoms(AppliedUndef)]
        if not bad:
            return expression
        ours = (*variables.coordinates, *variables.parameters)
        there = dict(zip((*self.coordinates, *self.parameters), ours, strict=True))
        back = {b: a for a, b in there.items()}
        return expression.xreplace({term: term.xreplace(there).doit().xreplace(back) for term in bad})

    def equation(self, residual: Any, name: str, orders: Orders | None = None) -> Form:
        """The form of a residual that is to be solved, not only evaluated: it must have partials."""
        form = self.form(residual, name, orders)
        check_partials(form.rest, {s: self.written(jet) for jet, s in form.nonlinear}, name)
        return form

    def written(self, jet: Jet) -> Any:
        """∂^α u as the person wrote it."""
        return self.unknowns[jet.unknown].diff(*zip(self.coordinates, jet.alpha, strict=True))

    def _expand_normals(self, residual: Any, variables: Variables) -> Any:
        if not residual.has(dn):
            return residual
        space = [(c, n) for c, n in zip(self.coordinates, variables.normals, strict=True) if c != self.time]
        return residual.replace(dn, lambda inner: sum(n * sp.diff(inner, c) for c, n in space))

    def _replace_jets(self, expression: Any, name: str) -> tuple[Any, dict[Any, Jet]]:
        index = {u: i for i, u in enumerate(self.unknowns)}
        table: dict[Any, Any] = {}
        jets: dict[Any, Jet] = {}
        terms = [t for t in expression.atoms(sp.Derivative, AppliedUndef) if not is_known(t)]
        # Derivatives first: u(x) also occurs inside Derivative(u(x), x).
        for term in sorted(terms, key=lambda t: (not isinstance(t, sp.Derivative), sp.default_sort_key(t))):
            u = term.expr if isinstance(term, sp.Derivative) else term
            if u not in index:
                if isinstance(term, sp.Derivative) and is_known(u):
                    raise ProblemError(
                        name,
                        expected="no derivative of a Python function",
                        got=term,
                        remedy="Expand the product rule by hand and give the derivative of "
                        f"{u.func} as a function of its own.",
                    )
                self._refuse(u, name)
            if isinstance(term, sp.Derivative):
                counts = dict(term.variable_count)
                strange = [v for v in counts if v not in self.coordinates]
                if strange or any(not sp.sympify(c).is_Integer for c in counts.values()):
                    raise ProblemError(
                        name,
                        expected=f"derivatives of a definite order in {self.coordinates}",
                        got=term,
                        remedy="Differentiate by the coordinates of the domain.",
                    )
                alpha = tuple(int(counts.get(c, 0)) for c in self.coordinates)
            else:
                alpha = (0,) * len(self.coordinates)
            symbol = sp.Symbol(f"pibls_j{len(jets)}", real=True)
            table[term] = symbol
            jets[symbol] = Jet(index[u], alpha)
        return expression.xreplace(table), jets

    def _refuse(self, u: Any, name: str) -> None:
        for known_unknown in self.unknowns:
            if getattr(u, "func", None) == known_unknown.func:
                raise ProblemError(
                    name,
                    expected=f"{known_unknown}, at the point where the equation holds",
                    got=u,
                    remedy="A value at another place is a condition of its own, with on=….",
                )
        raise ProblemError(
            name,
            expected=f"only the unknowns of the equations ({', '.join(map(str, self.unknowns))})",
            got=u,
            remedy="Use an unknown that an equation determines, or add the missing equation.",
        )

    def _check_data(self, expression: Any, name: str) -> None:
        for term in sorted(filter(is_known, expression.atoms(AppliedUndef)), key=sp.default_sort_key):
            if not set(term.args) <= set(self.coordinates):
                raise ProblemError(
                    name,
                    expected=f"Python functions of the coordinates {self.coordinates}",
                    got=term,
                    remedy="Call known(function, …) with coordinates only.",
                )

    def _replace_data(self, expression: Any) -> tuple[Any, tuple[Datum, ...]]:
        table: dict[Any, Any] = {}
        data: list[Datum] = []
        given = [t for t in expression.atoms(AppliedUndef) if is_known(t) and not is_shape(t)]
        for term in sorted(given, key=sp.default_sort_key):
            places = tuple(self.coordinates.index(a) for a in term.args)
            symbol = sp.Symbol(f"pibls_v{len(data)}", real=True)
            table[term] = symbol
            named = tuple((places[i], level) for i, level in breaks_named(term))
            data.append(Datum(symbol, implementation(term), places, str(term.func), named))
        return expression.xreplace(table), tuple(data)

    def _check_symbols(
        self, e: Any, jets: dict[Any, Jet], data: tuple[Datum, ...], variables: Variables, name: str
    ) -> None:
        if e.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
            raise ProblemError(
                name,
                expected="finite values",
                got=f"an expression with {'NaN' if e.has(sp.nan) else 'infinity'}",
                remedy="Look for a division by zero in the equation or its data.",
            )
        if e.has(sp.I):
            raise ProblemError(
                name,
                expected="real values",
                got="an expression with the imaginary unit",
                remedy="Write one real equation for the real part and one for the imaginary part.",
            )
        if e.has(sp.Derivative):
            raise ProblemError(
                name,
                expected="derivatives of the unknowns only",
                got=sorted(e.atoms(sp.Derivative), key=str)[0],
                remedy="Write the derivative of a given function out.",
            )
        ours = (*variables.coordinates, *variables.normals, *variables.parameters)
        allowed = {*ours, *jets, *(v.symbol for v in data)}
        strange = sorted(map(str, e.free_symbols - allowed))
        if strange:
            raise ProblemError(
                name,
                expected=f"only the coordinates {self.coordinates}, the unknowns and the parameters"
                if self.parameters
                else f"only the coordinates {self.coordinates} and the unknowns",
                got=f"the free symbol {', '.join(strange)}",
                remedy="Give it a value, Problem(…, parameters={symbol: number}), or add it to the domain. "
                "(A symbol of the same name with other assumptions, such as real=True, is another one.)",
            )


def _form(
    name: str, variables: Variables, expression: Any, jets: dict[Any, Jet], data: tuple[Datum, ...]
) -> Form:
    found = split(expression, jets, name)
    return Form(
        name,
        variables,
        tuple((jets[s], a) for s, a in found.linear.items()),
        tuple((jets[s], s) for s in found.partials),
        found.rest,
        data,
        tuple(found.partials.values()),
    )


def _flat(expression: Any) -> Any:
    """An expression whose inner derivatives are worked out."""
    return expression.xreplace({f: expanded(f) for f in fluxes_in(expression)})


def _in_range(expression: Any) -> Any:
    """exp(u - 1000.0), which SymPy writes as 5e-435 exp(u), as it was meant: 5e-435 is zero to a computer."""
    if not any(_is_beyond(c) for c in expression.atoms(sp.Float)):
        return expression

    def joined_again(*factors: Any) -> Any:
        beyond = [c for c in factors if c.is_Float and _is_beyond(c)]
        powers = [f for f in factors if isinstance(f, sp.exp)]
        if not beyond or not powers:
            return sp.Mul(*factors)
        shift = sum(sp.Rational(sp.log(sp.Float(abs(c), 30))) for c in beyond)
        sign = sp.Mul(*(sp.sign(c) for c in beyond))
        rest = [f for f in factors if f not in beyond and f is not powers[0]]
        return sp.Mul(sign, sp.exp(powers[0].args[0] + shift), *rest)

    return expression.replace(sp.Mul, joined_again)


def _is_beyond(c: Any) -> bool:
    return bool(c != 0 and c.is_finite and not 1e-300 < abs(c) < 1e300)


def _check_smooth(fluxes: list[Any], name: str) -> None:
    for flux in fluxes:
        if flux.has(sp.DiracDelta):
            raise ProblemError(
                name,
                expected="no DiracDelta under a derivative",
                got=flux,
                remedy="Take it out of the derivative, as a source of its own.",
            )
