"""The class `Problem`: a boundary or initial value problem N[u] = f in Ω, B[u] = g on ∂Ω, I[u] = s at t₀.

The constructor checks its arguments and turns equations and conditions into statements, symbolic forms on
regions. `Problem.breaks` locates the discontinuities and narrow peaks of the data. `Problem.at` is the same
problem with other parameter values, which shares all symbolic results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import sympy as sp

from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Equation, Expression, Parameter, Unknown
from pibls.geometry import Domain, box_of, check_domain, time_of
from pibls.geometry.checks.arguments import check_lengths
from pibls.problem.accessors import ProblemAccessors
from pibls.problem.arguments import ConditionValue
from pibls.problem.checks import (
    CONDITION_TYPES,
    check_counts,
    check_integrals,
    check_interior,
    find_unknowns,
)
from pibls.problem.conditions import (
    Condition,
    residual_of,
)
from pibls.problem.forms.checks import nesting_guard
from pibls.problem.forms.flux import Divergence, Orders, derivative_orders, expand_divergence, grad
from pibls.problem.forms.form import DeltaSource, Form, SymbolTable
from pibls.problem.forms.function_parameters import FunctionParameters, check_functions, split_functions
from pibls.problem.interfaces.discontinuities import Discontinuities, SwitchContext, discontinuities_of
from pibls.problem.interfaces.function_jumps import FunctionJumps, find_function_jumps
from pibls.problem.interfaces.jump_checks import check_jumps, check_sources
from pibls.problem.interfaces.narrow_peaks import NarrowCandidates, narrow_planes
from pibls.problem.parameters import check_used, read_parameters, updated_parameters
from pibls.problem.regions.selection import Interior, Region
from pibls.problem.statement import Statement, condition_statements
from pibls.runtime.caching import Memo

if TYPE_CHECKING:
    from pibls.problem.conditions import BaseCondition

T = TypeVar("T")


@dataclass(frozen=True, init=False)
class Problem(ProblemAccessors):
    """A differential equation, or a system of them, N[u] = f in a domain, with conditions.

    Parameters
    ----------
    domain
        Where the equations hold: `Interval`, `Box`, …, or any object of the `Domain` protocol.
    equations
        SymPy ``Eq``s, or expressions that are equal to zero. The unknowns are the applied functions in them.
    conditions
        `Dirichlet`, `Neumann`, `Robin`, `Periodic`, `Initial`, `Condition`.
    parameters
        Values of further symbols in equations and conditions, ``{k: 2.0}``; `at` changes them. The value of
        a function, ``{k(x): 1 + x}`` or ``{f(u): u * (1 - u)}``, is an expression of its arguments.

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
    equations: tuple[Equation, ...]
    conditions: tuple[BaseCondition, ...]
    unknowns: tuple[Unknown, ...]
    statements: tuple[Statement, ...]
    parameter_values: tuple[tuple[Parameter, float], ...]
    """(symbol, value) of each parameter."""
    function_parameters: FunctionParameters = field(repr=False)
    """Equations and conditions before the functions among the parameters were replaced by their values."""
    symbolic_memo: Memo = field(repr=False, compare=False)
    """Results that hold for all values of the parameters, such as compiled residuals."""
    value_memo: Memo = field(repr=False, compare=False)
    """Results that hold for these values of the parameters."""

    def __init__(
        self,
        domain: Domain,
        equations: Sequence[Equation],
        conditions: Sequence[BaseCondition],
        parameters: Mapping[Parameter | Unknown, ConditionValue] | None = None,
    ) -> None:
        with nesting_guard("equations"):
            self._initialize(domain, equations, conditions, parameters)

    def _initialize(
        self,
        domain: Domain,
        equations: Sequence[Equation],
        conditions: Sequence[BaseCondition],
        parameters: Mapping[Parameter | Unknown, ConditionValue] | None,
    ) -> None:
        check_domain(domain, "domain")
        equations, conditions = _as_tuple(equations, "equations"), _as_tuple(conditions, "conditions")
        time = time_of(domain)
        space = tuple(c for c in domain.coordinates if c != time)
        parameters, functions = split_functions(parameters)
        stated = (
            FunctionParameters(tuple(equations), tuple(conditions), tuple(functions.items()))
            if functions
            else FunctionParameters()
        )
        if functions:
            check_functions(functions, equations, conditions)
            equations, conditions = stated.with_values(functions)
        equations = tuple(_expanded(e, space, "equations") for e in equations)
        conditions = tuple(_expanded_condition(c, space) for c in conditions)
        residuals = tuple(residual_of(e, "equations") for e in equations)
        unknowns = find_unknowns(equations, residuals, domain)
        check_counts(equations, conditions, unknowns)
        check_integrals(residuals)
        values = read_parameters(parameters, domain.coordinates, unknowns)
        symbols = SymbolTable(tuple(domain.coordinates), time, unknowns, tuple(values))
        check_used(values, [*residuals, *(c.residual(symbols.coordinates) for c in conditions)])
        orders = derivative_orders(residuals, symbols.coordinates)
        interior = _interior_forms(symbols, residuals, orders)
        check_interior(interior, unknowns)
        check_lengths(
            box_of(domain), max(max(sum(j.alpha) for f in interior for j in f.derivatives), 1), "domain"
        )
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "equations", equations)
        object.__setattr__(self, "conditions", conditions)
        object.__setattr__(self, "unknowns", unknowns)
        statements = [Statement(form, Interior()) for form in interior]
        statements += condition_statements(conditions, domain, symbols, interior)
        object.__setattr__(self, "statements", tuple(statements))
        object.__setattr__(self, "parameter_values", tuple(values.items()))
        object.__setattr__(self, "function_parameters", stated)
        object.__setattr__(self, "symbolic_memo", Memo())
        object.__setattr__(self, "value_memo", Memo())
        self._check_jumps()

    def __getstate__(self) -> dict[str, object]:
        # Compiled functions do not pickle; compiling them again is cheap.
        return {**vars(self), "symbolic_memo": Memo(), "value_memo": Memo()}

    @property
    def parameters(self) -> Mapping[Parameter, float]:
        """Read-only mapping of the parameters to their values."""
        return MappingProxyType(dict(self.parameter_values))

    def at(
        self, *parameters: Mapping[Parameter | Unknown, ConditionValue], **named: ConditionValue
    ) -> Problem:
        """Return the same problem at other values of its parameters, without repeating symbolic work.

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
        functions = {f: v for k, v in given.items() if (f := self.function_parameters.find(k)) is not None}
        if functions:
            s = self.function_parameters
            rest = {k: v for k, v in given.items() if s.find(k) is None}
            merged = {**dict(self.parameter_values), **dict(s.functions), **functions}
            return Problem(self.domain, s.equations, s.conditions, merged).at(rest)
        values = updated_parameters(dict(self.parameter_values), parameters, named)
        other = object.__new__(Problem)
        own = {"parameter_values": tuple(values.items()), "value_memo": Memo()}
        for name, value in {**vars(self), **own}.items():
            object.__setattr__(other, name, value)
        other._check_jumps()
        return other

    @property
    def breaks(self) -> Discontinuities:
        """Where coefficients, sources and data are not smooth inside the domain.

        They, or their derivatives, are discontinuous there, or vary too rapidly to be sampled.
        """
        return self.memo(_find_breaks)[0]

    @property
    def has_interior_discontinuities(self) -> bool:
        """Whether an equation, and not only a condition, has such a place inside the domain.

        That is a discontinuity, or a peak too narrow to be sampled.
        """
        return self.memo(_find_breaks)[1]

    @property
    def function_jumps(self) -> tuple[FunctionJumps, ...]:
        """Jumps and kinks of the Python functions in equations and conditions, found by sampling."""
        return tuple(dict.fromkeys(j for s in self.statements for j in self.function_jumps_of(s)))

    def function_jumps_of(self, statement: Statement) -> tuple[FunctionJumps, ...]:
        """Return those of one statement; they do not depend on the parameters."""
        return self.symbolic_memo(_statement_jumps, statement, self.domain, key=statement.name)

    def memo(self, function: Callable[[Problem], T]) -> T:
        """Return function(problem), computed once for these values of the parameters."""
        return self.value_memo(function, self, key=())

    def delta_level(self, delta: DeltaSource) -> float:
        """Return the level x = c of a delta source on a plane at the values of the parameters."""
        return float(self.switch_context().with_parameters(delta.planes[0][1]))

    def switch_context(self) -> SwitchContext:
        """Return the box and parameter values in which switches are located."""
        return SwitchContext(
            self.symbol_table(), tuple(v for _, v in self.parameter_values), box_of(self.domain)
        )

    def _check_jumps(self) -> None:
        forms = [s.form for s in self.statements[: len(self.equations)]]
        if any(form.switches for form in forms):
            check_jumps(forms, self.switch_context())
        if any(form.deltas for form in forms):
            check_sources(forms, self.switch_context())

    @property
    def is_linear(self) -> bool:
        """Whether all equations and conditions are linear in the unknowns."""
        return all(s.form.is_linear for s in self.statements)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The coordinates, in the order of the columns of a point array."""
        return tuple(self.domain.coordinates)

    def symbol_table(self) -> SymbolTable:
        """Return the symbol table, which turns further expressions of the unknowns into forms."""
        return SymbolTable(
            self.coordinates,
            time_of(self.domain),
            self.unknowns,
            tuple(s for s, _ in self.parameter_values),
            self.function_parameters.functions,
        )

    def __repr__(self) -> str:
        kind = "linear" if self.is_linear else "nonlinear"
        names = ", ".join(str(u) for u in self.unknowns)
        return f"<Problem: {kind}, {names}, on {self.domain!r}, {len(self.conditions)} condition(s)>"


def _interior_forms(
    symbols: SymbolTable, residuals: tuple[Expression, ...], orders: Orders
) -> tuple[Form, ...]:
    """Return the forms of the equations, named "equation", or "equation 1", "equation 2", …."""
    return tuple(
        symbols.equation_form(r, "equation" if len(residuals) == 1 else f"equation {i + 1}", orders)
        for i, r in enumerate(residuals)
    )


def _find_breaks(problem: Problem) -> tuple[Discontinuities, bool]:
    """Return all discontinuities and narrow peaks, and whether an equation has some."""
    found, inside, context = Discontinuities(), False, problem.switch_context()
    candidates = problem.symbolic_memo(_narrow_candidates, problem, key=())
    narrow = candidates.may_be_narrow(context)
    for s in problem.statements:
        if narrow or s.form.switches or s.form.deltas or s.form.data:
            own = discontinuities_of(s.form, context) | (
                narrow_planes(s.form, context) if narrow else Discontinuities()
            )
            for jumps in problem.function_jumps_of(s):
                own |= jumps.breaks
            found |= own
            inside |= bool(own) and s.region.is_interior
    return found.distinct(box_of(problem.domain)), inside


def _narrow_candidates(problem: Problem) -> NarrowCandidates:
    return NarrowCandidates.of([s.form for s in problem.statements], problem.switch_context())


def _statement_jumps(statement: Statement, domain: Domain) -> tuple[FunctionJumps, ...]:
    """Return the jumps of the Python functions of a statement."""
    location = statement.region, domain, statement.name
    found = (find_function_jumps(function, *location) for function in statement.form.data)
    return tuple(j for j in found if j is not None)


def _as_tuple(values: Sequence[T], argument: str) -> tuple[T, ...]:
    if isinstance(values, (sp.Basic, *CONDITION_TYPES)):
        values = [values]
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        raise ProblemError(
            argument,
            expected="a list",
            got=repr(values),
            remedy=f"Write {argument}=[…].",
        )
    return tuple(values)


def _expanded(equation: Equation, space: tuple[Coordinate, ...], name: str) -> Equation:
    """Expand div and grad of an equation; other objects are returned as they are and rejected later."""
    if not isinstance(equation, sp.Basic) or not equation.has(Divergence, grad):
        return equation
    return expand_divergence(equation, space, name)


def _expanded_condition(condition: BaseCondition, space: tuple[Coordinate, ...]) -> BaseCondition:
    if not isinstance(condition, Condition):
        return condition
    return replace(condition, equation=_expanded(condition.equation, space, condition.label))


def condition_regions(problem: Problem) -> tuple[Region, ...]:
    """Return the region of each condition.

    A periodic condition makes several statements; its region is that of the first.
    """
    out = []
    for statement in problem.statements[len(problem.equations) :]:
        derived = statement.region.sites == 2 and any(any(j.alpha) for j in statement.form.derivatives)
        derived |= statement.region.continues_condition
        if not derived:
            out.append(statement.region)
    return tuple(out)
