"""N[u] = f in Ω, B[u] = g on ∂Ω, I[u] = s at t₀: the problem as a person states it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

import sympy as sp

from pibls.deadline import check_deadline
from pibls.errors import ProblemError
from pibls.geometry import Domain, box_of, check_domain, time_of
from pibls.geometry.checks.arguments import check_lengths
from pibls.problem.accessors import ProblemDoors
from pibls.problem.conditions import (
    Condition,
    residual_of,
)
from pibls.problem.demands import (
    KINDS,
    check_counts,
    check_integrals,
    check_interior,
    find_unknowns,
)
from pibls.problem.forms.checks import limited_depth
from pibls.problem.forms.flux import Divergence, grad, orders_in, written_out
from pibls.problem.forms.form import Delta, Language
from pibls.problem.forms.functions import Stated, check_functions, split_functions
from pibls.problem.interfaces.function_jumps import FunctionJumps, jumps_of
from pibls.problem.interfaces.jump_checks import check_jumps, check_sources
from pibls.problem.interfaces.narrow import Suspects, narrow_in
from pibls.problem.interfaces.planes import Breaks, SwitchBox, breaks_of
from pibls.problem.parameters import changed, check_used, read_parameters
from pibls.problem.regions.on import Inside, Region
from pibls.problem.statement import Statement, state_conditions

T = TypeVar("T")


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
        Values of further symbols in equations and conditions, ``{k: 2.0}``; `at` changes them. A function,
        ``{k(x): 1 + x}`` or ``{f(u): u * (1 - u)}``, has an expression of its arguments as value.

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
    stated: Stated = field(repr=False)
    """Equations and conditions as they were before functions among the parameters had values."""
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
        with limited_depth("equations"):
            self._state(domain, equations, conditions, parameters)

    def _state(
        self,
        domain: Domain,
        equations: Sequence[Any],
        conditions: Sequence[Any],
        parameters: Mapping[Any, Any] | None,
    ) -> None:
        check_domain(domain, "domain")
        equations = _as_tuple(equations, "equations")
        conditions = _as_tuple(conditions, "conditions")
        time = time_of(domain)
        space = tuple(c for c in domain.coordinates if c != time)
        parameters, functions = split_functions(parameters)
        stated = Stated(equations, conditions, tuple(functions.items())) if functions else Stated()
        if functions:
            check_functions(functions, equations, conditions)
            equations, conditions = stated.with_values(functions)
        equations = tuple(_written_out(e, space, "equations") for e in equations)
        conditions = tuple(_plain_condition(c, space) for c in conditions)
        residuals = tuple(residual_of(e, "equations") for e in equations)
        unknowns = find_unknowns(equations, residuals, domain)
        check_counts(equations, conditions, unknowns)
        check_integrals(residuals)
        values = read_parameters(parameters, domain.coordinates, unknowns)
        language = Language(tuple(domain.coordinates), time, unknowns, tuple(values))
        check_used(values, [*residuals, *(c.residual(language.coordinates) for c in conditions)])
        orders = orders_in(residuals, language.coordinates)
        interior = tuple(
            language.equation(r, "equation" if len(residuals) == 1 else f"equation {i + 1}", orders)
            for i, r in enumerate(residuals)
        )
        check_interior(interior, unknowns)
        check_lengths(box_of(domain), max(max(sum(j.alpha) for f in interior for j in f.jets), 1), "domain")
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "equations", equations)
        object.__setattr__(self, "conditions", conditions)
        object.__setattr__(self, "unknowns", unknowns)
        statements = [Statement(form, Inside()) for form in interior]
        statements += state_conditions(conditions, domain, language, interior)
        object.__setattr__(self, "statements", tuple(statements))
        object.__setattr__(self, "values", tuple(values.items()))
        object.__setattr__(self, "stated", stated)
        object.__setattr__(self, "structure", {})
        object.__setattr__(self, "derived", {})
        self._check_jumps()

    def __getstate__(self) -> dict[str, Any]:
        # Compiled functions do not pickle, and are quickly made again.
        return {**vars(self), "structure": {}, "derived": {}}

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
        given = {k: v for p in parameters if isinstance(p, Mapping) for k, v in p.items()} | named
        functions = {f: v for k, v in given.items() if (f := self.stated.find(k)) is not None}
        if functions:
            s = self.stated
            rest = {k: v for k, v in given.items() if s.find(k) is None}
            whole = {**dict(self.values), **dict(s.functions), **functions}
            return Problem(self.domain, s.equations, s.conditions, whole).at(rest)
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
        return self.once("breaks", self._breaks)[0]

    @property
    def is_broken_inside(self) -> bool:
        """Whether one of the equations jumps or bends inside the domain, and not only conditions."""
        return self.once("breaks", self._breaks)[1]

    def _breaks(self) -> tuple[Breaks, bool]:
        found, inside, place = Breaks(), False, self.place()
        if "suspects" not in self.structure:
            self.structure["suspects"] = Suspects.of([s.form for s in self.statements], place)
        narrow = self.structure["suspects"].are_narrow(place)
        for s in self.statements:
            if narrow or s.form.switches or s.form.deltas or s.form.data:
                own = breaks_of(s.form, place) | (narrow_in(s.form, place) if narrow else Breaks())
                for jumps in self._function_jumps(s):
                    own |= jumps.breaks
                found |= own
                inside |= bool(own) and s.region.is_inside
        return found.distinct(box_of(self.domain)), inside

    @property
    def function_jumps(self) -> tuple[FunctionJumps, ...]:
        """Where Python functions of equations and conditions jump or bend, as far as samples show it."""
        return tuple(dict.fromkeys(j for s in self.statements for j in self._function_jumps(s)))

    def _function_jumps(self, statement: Statement) -> tuple[FunctionJumps, ...]:
        """Those of one statement; they do not depend on the parameters."""
        kept = self.structure.setdefault("function jumps", {})
        if statement.name not in kept:
            place = statement.region, self.domain, statement.name
            found = (jumps_of(datum, *place) for datum in statement.form.data)
            kept[statement.name] = tuple(j for j in found if j is not None)
        jumps: tuple[FunctionJumps, ...] = kept[statement.name]
        return jumps

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What is worked out once for these values of the parameters."""
        if name not in self.derived:
            check_deadline()
            self.derived[name] = make()
        found: T = self.derived[name]
        return found

    def level_of(self, delta: Delta) -> float:
        """Where a source on a plane is, at the values of the parameters."""
        return float(self.place().fixed(delta.planes[0][1]))

    def place(self) -> SwitchBox:
        """What its switches are looked for in."""
        return SwitchBox(self.language(), tuple(v for _, v in self.values), box_of(self.domain))

    def _check_jumps(self) -> None:
        forms = [s.form for s in self.statements[: len(self.equations)]]
        if any(form.switches for form in forms):
            check_jumps(forms, self.place())
        if any(form.deltas for form in forms):
            check_sources(forms, self.place())

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
            self.coordinates,
            time_of(self.domain),
            self.unknowns,
            tuple(s for s, _ in self.values),
            self.stated.functions,
        )

    def __repr__(self) -> str:
        kind = "linear" if self.is_linear else "nonlinear"
        names = ", ".join(str(u) for u in self.unknowns)
        return f"<Problem: {kind}, {names}, on {self.domain!r}, {len(self.conditions)} condition(s)>"


def _as_tuple(values: Any, argument: str) -> tuple[Any, ...]:
    if isinstance(values, (sp.Basic, *KINDS)):
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


def condition_regions(problem: Problem) -> tuple[Region, ...]:
    """Where each condition holds. (A periodic one is several statements, of which the first says it.)"""
    out = []
    for statement in problem.statements[len(problem.equations) :]:
        derived = statement.region.sites == 2 and any(any(j.alpha) for j in statement.form.jets)
        derived |= statement.region.continues
        if not derived:
            out.append(statement.region)
    return tuple(out)
