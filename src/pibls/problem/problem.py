"""N[u] = f in Ω, B[u] = g on ∂Ω, I[u] = s at t₀: the problem as a person states it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.domain import Domain, box_of, check_domain, time_of
from pibls.doors import ProblemDoors
from pibls.errors import ProblemError
from pibls.problem.breaks import Breaks, Place, breaks_of, check_jumps
from pibls.problem.conditions import (
    Condition,
    Dirichlet,
    Initial,
    Neumann,
    Periodic,
    Robin,
    residual_of,
)
from pibls.problem.flux import Divergence, grad, written_out
from pibls.problem.form import Delta, Form, Jet, Language
from pibls.problem.integral import integral, totals
from pibls.problem.known import is_known
from pibls.problem.parameters import changed, check_used, read_parameters
from pibls.problem.region import Inside, Region, probe, region_of

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
class Problem(ProblemDoors):
    """N[u] = f in the domain, with conditions.

    Parameters
    ----------
    domain
        Where the equations hold: `Interval`, `Box`, …, or any object of the `Domain` protocol.
    equations
        SymPy ``Eq``s, or expressions that are meant to be zero. The unknowns are found in them.
    conditions
        `Dirichlet`, `Neumann`, `Robin`, `Periodic`, `Initial`, `Condition`.
    parameters
        Values of further symbols in equations and conditions, ``{k: 2.0}``; `at` changes them.

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
    values: tuple[tuple[Any, float], ...]
    """The parameters with their values."""
    structure: dict[str, Any] = field(repr=False, compare=False)
    """What later stages work out once for this problem at all values: its compiled form."""
    derived: dict[str, Any] = field(repr=False, compare=False)
    """What later stages work out once for this problem at these values."""

    def __init__(
        self,
        domain: Domain,
        equations: Sequence[Any],
        conditions: Sequence[Any],
        parameters: Mapping[Any, Any] | None = None,
    ) -> None:
        check_domain(domain, "domain")
        equations = _as_tuple(equations, "equations")
        conditions = _as_tuple(conditions, "conditions")
        time = time_of(domain)
        space = tuple(c for c in domain.coordinates if c != time)
        equations = tuple(_written_out(e, space, "equations") for e in equations)
        conditions = tuple(_plain_condition(c, space) for c in conditions)
        residuals = tuple(residual_of(e, "equations") for e in equations)
        unknowns = _find_unknowns(equations, residuals, domain)
        _check_counts(equations, conditions, unknowns)
        _check_integrals(residuals)
        values = read_parameters(parameters, domain.coordinates, unknowns)
        language = Language(tuple(domain.coordinates), time, unknowns, tuple(values))
        check_used(values, [*residuals, *(c.residual(language.coordinates) for c in conditions)])
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
        object.__setattr__(self, "values", tuple(values.items()))
        object.__setattr__(self, "structure", {})
        object.__setattr__(self, "derived", {})
        self._check_jumps()

    @property
    def parameters(self) -> Mapping[Any, float]:
        """The parameters and their values."""
        return MappingProxyType(dict(self.values))

    def at(self, *parameters: Mapping[Any, Any], **named: Any) -> Problem:
        """The same problem at other values of its parameters; nothing symbolic is done again.

        >>> import sympy as sp, pibls
        >>> x, k = sp.symbols("x k")
        >>> u = sp.Function("u")(x)
        >>> decay = pibls.Problem(
        ...     pibls.Interval(x, 0, 1), [u.diff(x) + k * u], [pibls.Initial(u, 1)], parameters={k: 2.0}
        ... )
        >>> dict(decay.at(k=3.0).parameters), dict(decay.at({k: 4}).parameters)
        ({k: 3.0}, {k: 4.0})
        """
        values = changed(dict(self.values), parameters, named)
        other = object.__new__(Problem)
        own = {"values": tuple(values.items()), "derived": {}}
        for name, value in {**vars(self), **own}.items():
            object.__setattr__(other, name, value)
        other._check_jumps()
        return other

    @property
    def breaks(self) -> Breaks:
        """Where coefficients, sources and data jump or bend inside the domain."""
        if "breaks" not in self.derived:
            forms = [s.form for s in self.statements if s.form.switches or s.form.deltas]
            found = Breaks()
            for form in forms:
                found |= breaks_of(form, self.place())
            self.derived["breaks"] = found
        out: Breaks = self.derived["breaks"]
        return out

    def level_of(self, delta: Delta) -> float:
        """Where a source on a plane is, at the values of the parameters."""
        return float(self.place().fixed(delta.planes[0][1]))

    def place(self) -> Place:
        """What its switches are looked for in."""
        return Place(self.language(), tuple(v for _, v in self.values), box_of(self.domain))

    def _check_jumps(self) -> None:
        forms = [s.form for s in self.statements[: len(self.equations)]]
        if any(form.switches for form in forms):
            check_jumps(forms, self.place())

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
        return Language(
            self.coordinates, time_of(self.domain), self.unknowns, tuple(s for s, _ in self.values)
        )

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


def _written_out(equation: Any, space: tuple[Any, ...], name: str) -> Any:
    """An equation with div and grad written out; what is no equation is refused later."""
    if not isinstance(equation, sp.Basic) or not equation.has(Divergence, grad):
        return equation
    return written_out(equation, space, name)


def _plain_condition(condition: Any, space: tuple[Any, ...]) -> Any:
    if not isinstance(condition, Condition):
        return condition
    return replace(condition, equation=_written_out(condition.equation, space, condition.label))


def _without_deltas(form: Form) -> Form:
    if form.deltas:
        raise ProblemError(
            form.name,
            expected="finite values",
            got="DiracDelta",
            remedy="It stands in equations only, as a source; a narrow exp(-((x - a)/w)**2) is finite.",
        )
    return form


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


def _check_integrals(residuals: tuple[Any, ...]) -> None:
    for residual in residuals:
        if residual.has(integral):
            raise ProblemError(
                "equations",
                expected="derivatives and values of the unknowns",
                got=sorted(residual.atoms(integral), key=str)[0],
                remedy="Integrals stand in conditions: Condition(sympy.Eq(integral(u), 0)). Where an "
                "equation has one, an unknown with v' = u stands for it.",
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
    sums = [
        totals(r, c.on, domain, language, label)
        if (r := c.residual(language.coordinates)).has(integral)
        else []
        for c, label in zip(conditions, labels, strict=True)
    ]
    regions = [s[0][1] if s else region_of(c, domain) for c, s in zip(conditions, sums, strict=True)]
    forms = [
        _periodic_forms(c, language, interior, label)
        if isinstance(c, Periodic)
        else [form for form, _ in s]
        or [_without_deltas(language.equation(c.residual(language.coordinates), label))]
        for c, s, label in zip(conditions, sums, labels, strict=True)
    ]
    subjects = [{jet.unknown for f in fs for jet in f.jets} for fs in forms]
    out = []
    for i, (condition, label) in enumerate(zip(conditions, labels, strict=True)):
        region: Region = regions[i]
        if not subjects[i]:
            raise ProblemError(
                label,
                expected="an unknown in the condition",
                got=condition.label,
                remedy="A condition must say something about an unknown of the equations.",
            )
        if condition.on is None and region.sites == 1 and region.is_boundary:
            taken = tuple(
                r
                for j, r in enumerate(regions)
                if subjects[i] & subjects[j]
                and r.is_boundary
                and (r.sites == 2 or conditions[j].on is not None)
            )
            region = _remaining(region, taken, domain, label)
        if sums[i]:
            out += [Statement(_without_deltas(form), where) for form, where in sums[i]]
            continue
        for form in forms[i]:
            if form.needs_normal and not region.has_normal:
                raise ProblemError(
                    f"{label}: on",
                    expected="a place on one side of the boundary, where the normal is defined",
                    got=condition.on,
                    remedy="Write the derivative that you mean with Condition(u.diff(x) - value, on=…).",
                    in_file='Write the derivative that you mean: equation = "u_x = 0".',
                )
            out.append(Statement(form, region))
    return out


def _remaining(region: Region, taken: tuple[Region, ...], domain: Domain, label: str) -> Region:
    part = region.without(taken)
    if taken and not part.mask(probe(domain)).any():
        raise ProblemError(
            f"{label}: on",
            expected="a part of the boundary that no other condition on the same unknown names",
            got="None, and the other conditions already name all of it",
            remedy="Say where it holds with on=…; on=domain is the whole boundary.",
            in_file='Say where it holds with on = "x = 0"; on = "domain" is the whole boundary.',
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
        out.append(Form(name, language.variables, linear, (), sp.Integer(0)))
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
        derived = statement.region.sites == 2 and any(any(j.alpha) for j in statement.form.jets)
        derived |= statement.region.continues
        if not derived:
            out.append(statement.region)
    return tuple(out)
