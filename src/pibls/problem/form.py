r"""r = Σⱼ aⱼ(x) Jⱼ + ρ(x, J): one residual, split into a linear and a nonlinear part.

Every derivative ∂^α u that stands in an equation becomes a *jet symbol* J. Partials ∂r/∂J that hold
no jet symbol are the coefficients aⱼ; the rest ρ keeps the other jets, and its partials give the
Jacobian. An equation is linear when ρ holds no jet: that is found out here, never declared.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import MultiIndex, PointFunction
from pibls.errors import ProblemError
from pibls.problem.checks import check_partials, check_terms
from pibls.problem.conditions import dn
from pibls.problem.known import implementation, is_known


@dataclass(frozen=True)
class Jet:
    """∂^alpha of unknown number ``unknown``, at site number ``site`` of the row.

    A row usually has one site, its point; a periodic row has two.
    """

    unknown: int
    alpha: MultiIndex
    site: int = 0


@dataclass(frozen=True)
class Datum:
    """A Python function in an equation: its symbol, and the coordinates it is called with."""

    symbol: Any
    function: PointFunction
    arguments: tuple[int, ...]
    name: str


@dataclass(frozen=True)
class Variables:
    """The internal symbols: coordinates, normal components. All real, so that SymPy may simplify."""

    coordinates: tuple[Any, ...]
    normals: tuple[Any, ...]

    @classmethod
    def of_dimension(cls, d: int) -> Variables:
        return cls(
            tuple(sp.Symbol(f"pibls_x{i}", real=True) for i in range(d)),
            tuple(sp.Symbol(f"pibls_n{i}", real=True) for i in range(d)),
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

    @property
    def is_linear(self) -> bool:
        return not self.nonlinear

    @property
    def jets(self) -> tuple[Jet, ...]:
        return tuple(jet for jet, _ in (*self.linear, *self.nonlinear))

    @property
    def needs_normal(self) -> bool:
        expressions = [self.rest, *(a for _, a in self.linear)]
        return any(e.has(*self.variables.normals) for e in expressions if self.variables.normals)


@dataclass(frozen=True)
class Language:
    """What the words of a problem mean: its coordinates, its time, its unknowns."""

    coordinates: tuple[Any, ...]
    time: Any
    unknowns: tuple[Any, ...]

    def form(self, residual: Any, name: str) -> Form:
        """The form of one residual expression; raises ProblemError where it cannot be understood."""
        d = len(self.coordinates)
        variables = Variables.of_dimension(d)
        expression = self._expand_normals(residual, variables)
        expression = self._as_real(expression.doit(integrals=False, deep=True), variables)
        check_terms(expression, name)
        self._check_data(expression, name)
        expression, jets = self._replace_jets(expression, name)
        expression, data = self._replace_data(expression)
        expression = expression.xreplace(dict(zip(self.coordinates, variables.coordinates, strict=True)))
        self._check_symbols(expression, jets, data, variables, name)
        return _split(name, variables, expression, jets, data)

    def _as_real(self, expression: Any, variables: Variables) -> Any:
        """Without re(x), im(x) and their derivatives, which |x| brings in for a symbol not declared real."""
        there = dict(zip(self.coordinates, variables.coordinates, strict=True))
        back = {b: a for a, b in there.items()}
        return expression.xreplace(
            {
                term: term.xreplace(there).doit().xreplace(back)
                for term in expression.atoms(sp.re, sp.im, sp.Derivative)
                if not term.atoms(AppliedUndef)
            }
        )

    def equation(self, residual: Any, name: str) -> Form:
        """The form of a residual that is to be solved, not only evaluated: it must have partials."""
        form = self.form(residual, name)
        check_partials(form.rest, {s: self._written(jet) for jet, s in form.nonlinear}, name)
        return form

    def _written(self, jet: Jet) -> Any:
        """∂^α u as the person wrote it."""
        return self.unknowns[jet.unknown].diff(*zip(self.coordinates, jet.alpha, strict=True))

    def _expand_normals(self, residual: Any, variables: Variables) -> Any:
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
        for term in sorted(filter(is_known, expression.atoms(AppliedUndef)), key=sp.default_sort_key):
            places = tuple(self.coordinates.index(a) for a in term.args)
            symbol = sp.Symbol(f"pibls_v{len(data)}", real=True)
            table[term] = symbol
            data.append(Datum(symbol, implementation(term), places, str(term.func)))
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
        allowed = {*variables.coordinates, *variables.normals, *jets, *(v.symbol for v in data)}
        strange = sorted(map(str, e.free_symbols - allowed))
        if strange:
            raise ProblemError(
                name,
                expected=f"only the coordinates {self.coordinates} and the unknowns",
                got=f"the free symbol {', '.join(strange)}",
                remedy="Give it a value with .subs({symbol: number}), or add it to the domain. "
                "(A symbol of the same name with other assumptions, such as real=True, is another one.)",
            )


def _split(
    name: str, variables: Variables, expression: Any, jets: dict[Any, Jet], data: tuple[Datum, ...]
) -> Form:
    bent = _bent(expression)
    linear: dict[Any, Any] = {}
    for s in jets:
        partial = sp.diff(expression, s)
        if partial.has(sp.Derivative):
            function = sorted(partial.atoms(sp.Derivative), key=str)[0].expr.func
            raise ProblemError(
                name,
                expected="terms that can be differentiated by the unknowns",
                got=f"{function} of an unknown, which has no derivative",
                remedy=f"Rewrite the equation without {function}, or smooth it.",
            )
        coefficient = None if s in bent else _jet_free(partial, set(jets))
        if coefficient is not None:
            linear[s] = coefficient
    rest = _without(expression, linear)
    return Form(
        name,
        variables,
        tuple((jets[s], a) for s, a in linear.items() if a != 0),
        tuple((jets[s], s) for s in jets if s not in linear),
        rest,
        data,
    )


_PLACES = (sp.Integer(0), sp.Rational(1, 3), sp.Rational(5, 7))
"""Where a jet is put when the result does not depend on it; zero unless the expression is singular."""


def _without(expression: Any, linear: dict[Any, Any]) -> Any:
    """ρ = r - Σ a J: the expression without its linear part."""
    for place in _PLACES:
        moved = expression.xreplace(dict.fromkeys(linear, place))
        if not moved.has(sp.nan, sp.zoo):
            return moved - sum(a * place for a in linear.values())
    return expression - sum(a * s for s, a in linear.items())


_KINKED = (
    sp.Abs, sp.sign, sp.Max, sp.Min, sp.Heaviside, sp.DiracDelta, sp.floor, sp.ceiling, sp.Mod,
    sp.asin, sp.acos, sp.atan, sp.acot, sp.asec, sp.acsc, sp.atan2, sp.acosh,
)  # fmt: skip
"""Functions that bend, jump, or undo another only on one branch: equal on one side, not on the other."""


def _bent(expression: Any) -> set[Any]:
    """The symbols in which an expression may have kinks: trying it at a few places cannot tell."""
    out: set[Any] = set()
    for e in expression.atoms(*_KINKED, sp.Piecewise):
        arguments = [condition for _, condition in e.args] if isinstance(e, sp.Piecewise) else e.args
        out.update(*(a.free_symbols for a in arguments))
    return out


def _jet_free(partial: Any, jets: set[Any]) -> Any:
    """The partial without jet symbols if it does not depend on them, else None."""
    held = partial.free_symbols & jets
    if not held:
        return partial
    expanded = sp.expand(partial)
    if not expanded.free_symbols & jets:
        return expanded
    # A switch may be off wherever it is tried: a symbol of its own stands for it.
    switches = partial.atoms(*_KINKED, sp.Piecewise)
    roots = {p.base for p in partial.atoms(sp.Pow) if p.exp.is_number and p.exp % 1 != 0}
    if any(e.free_symbols & jets for e in switches | roots):
        return None
    smooth = partial.xreplace({e: sp.Dummy(real=True) for e in switches})
    if not all(_vanishes(sp.diff(smooth, s)) for s in sorted(held, key=str)):
        return None
    for place in _PLACES:
        moved = partial.xreplace(dict.fromkeys(held, place))
        if not moved.has(sp.nan, sp.zoo):
            return moved
    return None


def _vanishes(expression: Any) -> bool:
    """Whether a smooth expression is zero, next to its own terms, wherever it was tried at 30 digits.

    SymPy's simplify would prove it, but it may take minutes on an ordinary source term.
    """
    if expression == 0:
        return True
    generator = random.Random(0)
    # Decimals as fractions: a Float would round everything it touches to 15 digits.
    expression = expression.xreplace({f: sp.Rational(str(f)) for f in expression.atoms(sp.Float)})
    symbols = sorted(expression.free_symbols, key=str)
    for _ in range(4):
        values = {
            s: sp.Rational(generator.choice((-1, 1)) * generator.randint(100, 900), 701) for s in symbols
        }
        value = expression.xreplace(values).evalf(30)
        if not value.is_number or value.has(sp.nan, sp.zoo, sp.oo):
            return False
        if abs(value) > sp.Float("1e-20") * _size(expression, values):
            return False
    return True


def _size(expression: Any, values: dict[Any, Any]) -> Any:
    """The size of an expression without any cancellation between its terms."""
    if expression.is_Add:
        return sum(_size(e, values) for e in expression.args)
    if expression.is_Mul:
        return sp.prod(_size(e, values) for e in expression.args)
    return abs(expression.xreplace(values).evalf(30))
