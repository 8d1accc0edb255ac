"""N[u] = f in Ω, B[u] = g on ∂Ω, I[u] = s at t₀: the problem as a person states it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.domain import Domain, check_domain, time_of
from pibls.errors import ProblemError
from pibls.later import Later
from pibls.problem.conditions import (
    Condition,
    Dirichlet,
    Initial,
    Neumann,
    Periodic,
    Robin,
    residual_of,
)
from pibls.problem.form import Form, Jet, Language, Variables
from pibls.problem.known import is_known
from pibls.problem.region import Inside, Pair, Part, Region, Slice, Spot, probe, region_of

_KINDS = (Dirichlet, Neumann, Robin, Periodic, Initial, Condition)


@dataclass(frozen=True)
class Statement:
    """One residual and where it must vanish: a row block of the least-squares system to be."""

    form: Form
    region: Region

    @property
    def name(self) -> str:
        return self.form.name


@dataclass(frozen=True, init=False)
class Problem:
    """N[u] = f in the domain, with conditions.

    Parameters
    ----------
    domain
        Where the equations hold: `Interval`, `Box`, …, or any object of the `Domain` protocol.
    equations
        SymPy ``Eq``s, or expressions that are meant to be zero. The unknowns are found in them.
    conditions
        `Dirichlet`, `Neumann`, `Robin`, `Periodic`, `Initial`, `Condition`.

    >>> import sympy as sp, pibls
    >>> x = sp.Symbol("x")
    >>> u = sp.Function("u")(x)
    >>> problem = pibls.Problem(
    ...     domain=pibls.Interval(x, 0, 1),
    ...     equations=[sp.Eq(u.diff(x, 2), sp.sin(u))],
    ...     conditions=[pibls.Dirichlet(u, 1)],
    ... )
    >>> problem.unknowns, problem.is_linear
    ((u(x),), False)
    """

    domain: Domain
    equations: tuple[Any, ...]
    conditions: tuple[Any, ...]
    unknowns: tuple[Any, ...]
    statements: tuple[Statement, ...]
    derived: dict[str, Any] = field(repr=False, compare=False)
    """What later stages work out once for this problem: its compiled form."""

    def __init__(self, domain: Domain, equations: Sequence[Any], conditions: Sequence[Any]) -> None:
        check_domain(domain, "domain")
        equations = _as_tuple(equations, "equations")
        conditions = _as_tuple(conditions, "conditions")
        residuals = tuple(residual_of(e, "equations") for e in equations)
        unknowns = _find_unknowns(equations, residuals, domain)
        _check_counts(equations, conditions, unknowns)
        language = Language(tuple(domain.coordinates), time_of(domain), unknowns)
        interior = tuple(
            language.equation(r, "equation" if len(residuals) == 1 else f"equation {i + 1}")
            for i, r in enumerate(residuals)
        )
        _check_interior(interior, unknowns)
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "equations", equations)
        object.__setattr__(self, "conditions", conditions)
        object.__setattr__(self, "unknowns", unknowns)
        statements = [Statement(form, Inside()) for form in interior]
        statements += _state_conditions(conditions, domain, language, interior)
        object.__setattr__(self, "statements", tuple(statements))
        object.__setattr__(self, "derived", {})

    @property
    def is_linear(self) -> bool:
        """Whether all equations and conditions are linear in the unknowns."""
        return all(s.form.is_linear for s in self.statements)

    @property
    def coordinates(self) -> tuple[Any, ...]:
        """The coordinates, in the order of the columns of a point array."""
        return tuple(self.domain.coordinates)

    def language(self) -> Language:
        """What the words of this problem mean, for expressions that come later."""
        return Language(self.coordinates, time_of(self.domain), self.unknowns)

    _repr_html_ = Later("pibls.notebook.problem:problem_html")

    def __repr__(self) -> str:
        kind = "linear" if self.is_linear else "nonlinear"
        names = ", ".join(str(u) for u in self.unknowns)
        return f"<Problem: {kind}, {names}, on {self.domain!r}, {len(self.conditions)} condition(s)>"


def _as_tuple(values: Any, argument: str) -> tuple[Any, ...]:
    if isinstance(values, (sp.Basic, *_KINDS)):
        values = [values]
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        raise ProblemError(
            argument,
            expected="a list",
            got=repr(values),
            remedy=f"Write {argument}=[…].",
        )
    return tuple(values)


def _find_unknowns(equations: tuple[Any, ...], residuals: tuple[Any, ...], domain: Domain) -> tuple[Any, ...]:
    """In the order of the equations, left sides first: S' = -bSI, I' = bSI - cI has the unknowns S, I."""
    found: list[Any] = []
    for equation, residual in zip(equations, residuals, strict=True):
        left = equation.args[0].atoms(AppliedUndef) if isinstance(equation, sp.Equality) else set()
        terms = [t for t in residual.atoms(AppliedUndef) if not is_known(t)]
        ordered = sorted(terms, key=lambda t: (t not in left, sp.default_sort_key(t)))
        found += [t for t in ordered if t not in found]
    for u in found:
        if set(u.args) != set(domain.coordinates) or len(u.args) != len(domain.coordinates):
            names = ", ".join(map(str, domain.coordinates))
            raise ProblemError(
                "equations",
                expected=f"unknowns of the coordinates of the domain, such as {u.func}({names})",
                got=u,
                remedy="Apply the unknown to the symbols the domain is made of (the same objects: "
                "a symbol with other assumptions is another symbol).",
            )
    functions = [str(u.func) for u in found]
    twice = sorted({n for n in functions if functions.count(n) > 1})
    if twice:
        raise ProblemError(
            "equations",
            expected="one way of writing each unknown",
            got=f"{twice[0]} with its coordinates in different orders",
            remedy="Apply each unknown to the coordinates in one order.",
        )
    return tuple(found)


def _check_counts(equations: Any, conditions: Any, unknowns: Any) -> None:
    if not equations:
        raise ProblemError(
            "equations", expected="at least one equation", got="none", remedy="Write equations=[sympy.Eq(…)]."
        )
    if not unknowns:
        raise ProblemError(
            "equations",
            expected='an unknown such as sympy.Function("u")(x)',
            got="equations without any unknown function",
            remedy="Apply the function to the coordinates: u = sympy.Function('u')(x), not a symbol.",
        )
    if len(equations) < len(unknowns):
        raise ProblemError(
            "equations",
            expected=f"as many equations as unknowns ({len(unknowns)})",
            got=f"{len(equations)} for {', '.join(map(str, unknowns))}",
            remedy="The problem is under-determined: add the missing equations.",
        )
    if not conditions:
        raise ProblemError(
            "conditions",
            expected="at least one condition",
            got="none",
            remedy="Without conditions the solution is not unique: add Dirichlet(u, 0), Initial(u, …), ….",
        )
    for c in conditions:
        if not isinstance(c, _KINDS):
            raise ProblemError(
                "conditions",
                expected="Dirichlet, Neumann, Robin, Periodic, Initial or Condition",
                got=repr(c),
                remedy="Wrap an equation as Condition(equation, on=…).",
            )


def _check_interior(forms: tuple[Form, ...], unknowns: tuple[Any, ...]) -> None:
    for i, form in enumerate(forms):
        if form.needs_normal:
            raise ProblemError(
                form.name,
                expected="derivatives by the coordinates",
                got="dn(…), the normal derivative",
                remedy="dn stands in boundary conditions only.",
            )
        if not form.jets:
            raise ProblemError(
                form.name,
                expected="an equation that says something about an unknown",
                got=f"{form.rest} = 0: the unknowns cancel",
                remedy="Check the signs, or leave this equation out.",
            )
        twin = next((f for f in forms[:i] if replace(f, name=form.name) == form), None)
        if twin is not None:
            raise ProblemError(
                form.name,
                expected="an equation of its own",
                got=f"the same as {twin.name}",
                remedy="Equations that repeat each other determine no further unknown.",
            )
    for index, u in enumerate(unknowns):
        if not any(jet.unknown == index for form in forms for jet in form.jets):
            raise ProblemError(
                "equations",
                expected=f"an equation that determines {u}",
                got="none: it cancels wherever it stands",
                remedy=f"Add an equation for {u}, or leave it out.",
            )


def _state_conditions(
    conditions: tuple[Any, ...], domain: Domain, language: Language, interior: tuple[Form, ...]
) -> list[Statement]:
    labels = _distinct([c.label for c in conditions])
    regions = [region_of(c, domain) for c in conditions]
    forms = [
        _periodic_forms(c, language, interior, label)
        if isinstance(c, Periodic)
        else [language.equation(c.residual(language.coordinates), label)]
        for c, label in zip(conditions, labels, strict=True)
    ]
    subjects = [{jet.unknown for f in fs for jet in f.jets} for fs in forms]
    out = []
    for i, (condition, label) in enumerate(zip(conditions, labels, strict=True)):
        region = regions[i]
        if not subjects[i]:
            raise ProblemError(
                label,
                expected="an unknown in the condition",
                got=condition.label,
                remedy="A condition must say something about an unknown of the equations.",
            )
        if condition.on is None and isinstance(region, Part):
            taken = tuple(
                r
                for j, r in enumerate(regions)
                if subjects[i] & subjects[j]
                and (isinstance(r, Pair) or (isinstance(r, Part) and conditions[j].on is not None))
            )
            region = _remaining(Part(taken=taken), domain, label)
        for form in forms[i]:
            if form.needs_normal and (isinstance(region, Slice) or _no_normal(region)):
                raise ProblemError(
                    f"{label}: on",
                    expected="a place on one side of the boundary, where the normal is defined",
                    got=condition.on,
                    remedy="Write the derivative that you mean with Condition(u.diff(x) - value, on=…).",
                )
            out.append(Statement(form, region))
    return out


def _no_normal(region: Region) -> bool:
    return isinstance(region, Spot) and region.normal is None


def _remaining(part: Part, domain: Domain, label: str) -> Part:
    if part.taken and not part.mask(probe(domain)).any():
        raise ProblemError(
            f"{label}: on",
            expected="a part of the boundary that no other condition on the same unknown names",
            got="None, and the other conditions already name all of it",
            remedy="Say where it holds with on=…; on=domain is the whole boundary.",
        )
    return part


def _periodic_forms(
    condition: Periodic, language: Language, interior: tuple[Form, ...], label: str
) -> list[Form]:
    if condition.u not in language.unknowns:
        language.form(condition.u, label)  # raises, naming the unknown
    d = len(language.coordinates)
    index = language.unknowns.index(condition.u)
    axis = language.coordinates.index(condition.x)
    orders = [jet.alpha[axis] for form in interior for jet in form.jets if jet.unknown == index]
    out = []
    for k in range(max(orders, default=0)):
        alpha = tuple(k if i == axis else 0 for i in range(d))
        one = sp.Integer(1)
        linear = ((Jet(index, alpha, 1), one), (Jet(index, alpha, 0), -one))
        name = label if k == 0 else f"{label}, derivative {k}"
        out.append(Form(name, Variables.of_dimension(d), linear, (), sp.Integer(0)))
    if not out:
        raise ProblemError(
            label,
            expected=f"an equation with a {condition.x}-derivative of {condition.u}",
            got="none",
            remedy="A periodic condition is needed only where the equation differentiates.",
        )
    return out


def _distinct(labels: list[str]) -> list[str]:
    out = []
    for i, label in enumerate(labels):
        before = labels[:i].count(label)
        out.append(label if not before else f"{label} ({before + 1})")
    return out


def condition_regions(problem: Problem) -> tuple[Region, ...]:
    """Where each condition holds. (A periodic one is several statements, of which the first says it.)"""
    out = []
    for statement in problem.statements[len(problem.equations) :]:
        derived = isinstance(statement.region, Pair) and any(any(j.alpha) for j in statement.form.jets)
        if not derived:
            out.append(statement.region)
    return tuple(out)
