r"""Symbolic residuals r = Σⱼ aⱼ(x) Jⱼ + ρ(x, J), split into a linear and a nonlinear part.

Every derivative ∂^α u in an equation is replaced by a symbol J. Where ∂r/∂J does not depend on any J, it is
the coefficient a; the remaining terms are ρ, and ∂ρ/∂J gives the Jacobian. An equation is linear if ρ does
not depend on any J, which is determined by `linear_split`. For an equation in flux form, r = ∂F + …, the form
contains F beside the expanded residual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import MultiIndex
from pibls.errors import ProblemError
from pibls.problem.conditions import dn
from pibls.problem.forms.checks import check_partials, check_terms
from pibls.problem.forms.data_functions import DataFunction
from pibls.problem.forms.flux import (
    Orders,
    derivative_orders,
    evaluate_flux,
    expand_divergence,
    find_fluxes,
    outermost_derivatives,
)
from pibls.problem.forms.function_parameters import substitute_functions
from pibls.problem.forms.interface_fluxes import interface_fluxes
from pibls.problem.forms.known import declared_breaks, implementation, is_known, is_shape_indicator
from pibls.problem.forms.linear_split import split_linear
from pibls.problem.forms.long_sums import evaluate_terms, rename_symbols
from pibls.problem.interfaces.switches import Switch, delta_sources, find_switches


@dataclass(frozen=True)
class PartialDerivative:
    """The derivative ∂^alpha of an unknown, given by its index, at one of the sites of a row.

    A row has one site, its point; a row of a periodic condition has two.
    """

    unknown: int
    alpha: MultiIndex
    site: int = 0


@dataclass(frozen=True)
class InternalSymbols:
    """Real symbols for the coordinates, normal components and parameters of a form."""

    coordinates: tuple[sp.Symbol, ...]
    normals: tuple[sp.Symbol, ...]
    parameters: tuple[sp.Symbol, ...] = ()

    @classmethod
    @cache
    def of_dimension(cls, d: int, parameters: int = 0) -> InternalSymbols:
        return cls(
            tuple(sp.Symbol(f"pibls_x{i}", real=True) for i in range(d)),
            tuple(sp.Symbol(f"pibls_n{i}", real=True) for i in range(d)),
            tuple(sp.Symbol(f"pibls_p{i}", real=True) for i in range(parameters)),
        )


@dataclass(frozen=True)
class Form:
    """A residual r = Σ a J + ρ with the derivatives J of its linear part and of ρ."""

    name: str
    variables: InternalSymbols
    linear: tuple[tuple[PartialDerivative, sp.Expr], ...]
    nonlinear: tuple[tuple[PartialDerivative, sp.Expr], ...]
    """(derivative, its symbol) for each J in ρ."""
    rest: sp.Expr
    data: tuple[DataFunction, ...] = ()
    partials: tuple[sp.Expr, ...] = ()
    """∂ρ/∂J for each J in ρ."""
    switches: tuple[Switch, ...] = ()
    """Where coefficients and sources, or their derivatives, are discontinuous."""
    deltas: tuple[DeltaSource, ...] = ()
    """Delta sources on planes and at points, which are not part of ρ."""
    fluxes: tuple[Flux, ...] = ()
    """The fluxes, that is, the expressions under outer derivatives."""
    without_fluxes: Form | None = None
    """The form of the residual without its fluxes; None if there are none."""

    @property
    def is_linear(self) -> bool:
        return not self.nonlinear

    @property
    def derivatives(self) -> tuple[PartialDerivative, ...]:
        return tuple(derivative for derivative, _ in (*self.linear, *self.nonlinear))

    @property
    def linearization(self) -> tuple[tuple[PartialDerivative, sp.Expr], ...]:
        """(J, ∂r/∂J) for every derivative."""
        return (*self.linear, *((j, p) for (j, _), p in zip(self.nonlinear, self.partials, strict=True)))

    @property
    def needs_normal(self) -> bool:
        expressions = [self.rest, *(a for _, a in self.linear)]
        return any(e.has(*self.variables.normals) for e in expressions if self.variables.normals)


@dataclass(frozen=True)
class Flux:
    """F in r = ∂F/∂x_axis + …, continuous across a plane normal to the axis where coefficients jump."""

    axis: int
    form: Form
    is_outermost: bool = True
    """Whether it is under a single outer derivative: this flux jumps by the strength of a delta source."""
    lacks_factor: bool = False
    """Whether the factor of its derivative was dropped, so that n·F of several fluxes has no meaning."""


@dataclass(frozen=True)
class DeltaSource:
    """A source s(x, J) Π δ(x_axis - level) on a plane, or at the point where several planes meet."""

    planes: tuple[tuple[int, sp.Expr], ...]
    """(axis, level) of each; levels are expressions in the internal symbols of the parameters."""
    strength: Form


@dataclass(frozen=True)
class SymbolTable:
    """Coordinates, time, unknowns and parameters of a problem; turns SymPy expressions into forms."""

    coordinates: tuple[sp.Symbol, ...]
    time: sp.Symbol | None
    unknowns: tuple[AppliedUndef, ...]
    parameters: tuple[sp.Symbol, ...] = ()
    functions: tuple[tuple[AppliedUndef, sp.Expr], ...] = ()
    """(function, value) of the functions among the parameters."""

    @property
    def variables(self) -> InternalSymbols:
        """The internal symbols of coordinates and parameters."""
        return InternalSymbols.of_dimension(len(self.coordinates), len(self.parameters))

    @property
    def space(self) -> tuple[sp.Symbol, ...]:
        """The space coordinates."""
        return tuple(c for c in self.coordinates if c != self.time)

    def form(self, residual: sp.Expr, name: str, orders: Orders | None = None) -> Form:
        """Return the form of a residual expression; raise a ProblemError if it is not valid.

        ``orders`` are the orders of the unknowns in the system, by default those in this expression.
        """
        expression = expand_divergence(
            _rescale_exponentials(substitute_functions(residual, self.functions)), self.space, name
        )
        expression = self._expand_normals(expression, self.variables)
        fluxes = find_fluxes(expression)
        if not fluxes:
            return self._plain_form(expression, name)
        _check_no_delta(fluxes, name)
        form = self._plain_form(expression.xreplace({f: evaluate_flux(f) for f in fluxes}), name)
        outside = self._plain_form(expression.xreplace(dict.fromkeys(fluxes, sp.Integer(0))), name)
        orders = derivative_orders([expression], self.coordinates) if orders is None else orders
        parts = interface_fluxes(expression, self.coordinates, orders, name)
        form_fluxes = tuple(
            Flux(
                p.axis,
                self._plain_form(_evaluate_inner(p.expression), "flux"),
                p.is_outermost,
                p.lacks_factor,
            )
            for p in parts
        )
        switches = dict.fromkeys((*form.switches, *(s for f in form_fluxes for s in f.form.switches)))
        return replace(form, fluxes=form_fluxes, without_fluxes=outside, switches=tuple(switches))

    def _plain_form(self, expression: sp.Expr, name: str) -> Form:
        """Return the form of an expression without fluxes."""
        variables = self.variables
        expression = self._as_real(evaluate_terms(expression), variables)
        check_terms(expression, name)
        self._check_data(expression, name)
        expression, derivatives = self._replace_derivatives(expression, name)
        expression, data = self._replace_data(expression)
        inside = (*variables.coordinates, *variables.parameters)
        names = dict(zip((*self.coordinates, *self.parameters), inside, strict=True))
        expression = rename_symbols(expression, names)
        self._check_symbols(expression, derivatives, data, variables, name)
        smooth, points = delta_sources(expression, variables.coordinates, self.coordinates, name)
        switches = find_switches(expression, variables.coordinates, derivatives)
        deltas = tuple(
            DeltaSource(planes, _form("strength", variables, s, derivatives, data))
            for planes, s in points.items()
        )
        return replace(_form(name, variables, smooth, derivatives, data), switches=switches, deltas=deltas)

    def _as_real(self, expression: sp.Expr, variables: InternalSymbols) -> sp.Expr:
        """Remove re(x), im(x) and their derivatives, which SymPy introduces for |x| of a complex symbol."""
        bad = [t for t in expression.atoms(sp.re, sp.im, sp.Derivative) if not t.atoms(AppliedUndef)]
        if not bad:
            return expression
        ours = (*variables.coordinates, *variables.parameters)
        there = dict(zip((*self.coordinates, *self.parameters), ours, strict=True))
        back = {b: a for a, b in there.items()}
        return expression.xreplace({term: term.xreplace(there).doit().xreplace(back) for term in bad})

    def equation_form(self, residual: sp.Expr, name: str, orders: Orders | None = None) -> Form:
        """Return the form of a residual that is solved and not only evaluated, so that ∂ρ/∂J must exist."""
        form = self.form(residual, name, orders)
        check_partials(
            form.rest, {s: self.sympy_derivative(derivative) for derivative, s in form.nonlinear}, name
        )
        return form

    def sympy_derivative(self, derivative: PartialDerivative) -> sp.Expr:
        """Return ∂^α u as a SymPy expression in the symbols of the user."""
        return self.unknowns[derivative.unknown].diff(*zip(self.coordinates, derivative.alpha, strict=True))

    def _expand_normals(self, residual: sp.Expr, variables: InternalSymbols) -> sp.Expr:
        if not residual.has(dn):
            return residual
        space = [(c, n) for c, n in zip(self.coordinates, variables.normals, strict=True) if c != self.time]
        return residual.replace(dn, lambda inner: sum(n * sp.diff(inner, c) for c, n in space))

    def _replace_derivatives(
        self, expression: sp.Expr, name: str
    ) -> tuple[sp.Expr, dict[sp.Symbol, PartialDerivative]]:
        index = {u: i for i, u in enumerate(self.unknowns)}
        table: dict[sp.Expr, sp.Symbol] = {}
        derivatives: dict[sp.Symbol, PartialDerivative] = {}
        terms = [t for t in expression.atoms(sp.Derivative, AppliedUndef) if not is_known(t)]
        # Derivatives first, since u(x) also occurs inside Derivative(u(x), x).
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
                self._raise_unknown(u, name)
            alpha = self._multi_index(term, name)
            symbol = sp.Symbol(f"pibls_j{len(derivatives)}", real=True)
            table[term] = symbol
            derivatives[symbol] = PartialDerivative(index[u], alpha)
        return expression.xreplace(table), derivatives

    def _multi_index(self, term: sp.Expr, name: str) -> MultiIndex:
        """Return α of ∂^α u; zeros for u itself."""
        if not isinstance(term, sp.Derivative):
            return (0,) * len(self.coordinates)
        counts = dict(term.variable_count)
        strange = [v for v in counts if v not in self.coordinates]
        if strange or any(not sp.sympify(c).is_Integer for c in counts.values()):
            raise ProblemError(
                name,
                expected=f"derivatives of a definite order in {self.coordinates}",
                got=term,
                remedy="Differentiate by the coordinates of the domain.",
            )
        return tuple(int(counts.get(c, 0)) for c in self.coordinates)

    def _raise_unknown(self, u: AppliedUndef, name: str) -> None:
        for unknown in self.unknowns:
            if isinstance(u, sp.Basic) and u.func == unknown.func:
                raise ProblemError(
                    name,
                    expected=f"{unknown}, at the point where the equation holds",
                    got=u,
                    remedy="Write a value at another point as a condition with on=….",
                )
        raise ProblemError(
            name,
            expected=f"only the unknowns of the equations ({', '.join(map(str, self.unknowns))})",
            got=u,
            remedy="Use an unknown that an equation determines, or add the missing equation.",
        )

    def _check_data(self, expression: sp.Expr, name: str) -> None:
        for term in sorted(filter(is_known, expression.atoms(AppliedUndef)), key=sp.default_sort_key):
            if not set(term.args) <= set(self.coordinates):
                raise ProblemError(
                    name,
                    expected=f"Python functions of the coordinates {self.coordinates}",
                    got=term,
                    remedy="Call known(function, …) with coordinates only.",
                )

    def _replace_data(self, expression: sp.Expr) -> tuple[sp.Expr, tuple[DataFunction, ...]]:
        table: dict[sp.Expr, sp.Expr] = {}
        data: list[DataFunction] = []
        given = [t for t in expression.atoms(AppliedUndef) if is_known(t) and not is_shape_indicator(t)]
        for term in sorted(given, key=sp.default_sort_key):
            places = tuple(self.coordinates.index(a) for a in term.args)
            symbol = sp.Symbol(f"pibls_v{len(data)}", real=True)
            table[term] = symbol
            named = tuple((places[i], level) for i, level in declared_breaks(term))
            data.append(DataFunction(symbol, implementation(term), places, str(term.func), named))
        return expression.xreplace(table), tuple(data)

    def _check_symbols(
        self,
        e: sp.Expr,
        derivatives: dict[sp.Symbol, PartialDerivative],
        data: tuple[DataFunction, ...],
        variables: InternalSymbols,
        name: str,
    ) -> None:
        if e.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
            raise ProblemError(
                name,
                expected="finite values",
                got=f"an expression with {'NaN' if e.has(sp.nan) else 'infinity'}",
                remedy="Check the equation and its data for a division by zero.",
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
                remedy="Write the derivative of a given function explicitly.",
            )
        ours = (*variables.coordinates, *variables.normals, *variables.parameters)
        allowed = {*ours, *derivatives, *(v.symbol for v in data)}
        strange = sorted(map(str, e.free_symbols - allowed))
        if strange:
            raise ProblemError(
                name,
                expected=f"only the coordinates {self.coordinates}, the unknowns and the parameters"
                if self.parameters
                else f"only the coordinates {self.coordinates} and the unknowns",
                got=f"the free symbol {', '.join(strange)}",
                remedy="Give it a value, Problem(…, parameters={symbol: number}), or add it to the domain. "
                "(Symbols of one name with different assumptions, such as real=True, are different symbols.)",
            )


def _form(
    name: str,
    variables: InternalSymbols,
    expression: sp.Expr,
    derivatives: dict[sp.Symbol, PartialDerivative],
    data: tuple[DataFunction, ...],
) -> Form:
    found = split_linear(expression, derivatives, name)
    return Form(
        name,
        variables,
        tuple((derivatives[s], a) for s, a in found.linear.items()),
        tuple((derivatives[s], s) for s in found.partials),
        found.rest,
        data,
        tuple(found.partials.values()),
    )


def _evaluate_inner(expression: sp.Expr) -> sp.Expr:
    """Return an expression with its inner derivatives evaluated."""
    return expression.xreplace({f: evaluate_flux(f) for f in outermost_derivatives(expression)})


def _rescale_exponentials(expression: sp.Expr) -> sp.Expr:
    """Restore exp(u - 1000.0), which SymPy writes as 5e-435 exp(u) with a factor that underflows."""
    if not any(_is_out_of_range(c) for c in expression.atoms(sp.Float)):
        return expression

    def merge_exponential(*factors: sp.Expr) -> sp.Expr:
        beyond = [c for c in factors if c.is_Float and _is_out_of_range(c)]
        powers = [f for f in factors if isinstance(f, sp.exp)]
        if not beyond or not powers:
            return sp.Mul(*factors)
        shift = sum(sp.Rational(sp.log(sp.Float(abs(c), 30))) for c in beyond)
        sign = sp.Mul(*(sp.sign(c) for c in beyond))
        rest = [f for f in factors if f not in beyond and f is not powers[0]]
        return sp.Mul(sign, sp.exp(powers[0].args[0] + shift), *rest)

    return expression.replace(sp.Mul, merge_exponential)


def _is_out_of_range(c: sp.Expr) -> bool:
    return bool(c != 0 and c.is_finite and not 1e-300 < abs(c) < 1e300)


def _check_no_delta(fluxes: list[sp.Expr], name: str) -> None:
    for flux in fluxes:
        if flux.has(sp.DiracDelta):
            raise ProblemError(
                name,
                expected="no DiracDelta under a derivative",
                got=flux,
                remedy="Take it out of the derivative, as a source of its own.",
            )
