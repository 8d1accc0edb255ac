"""Statements R[u] = 0 on a region, which equations and conditions are turned into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy as sp

from pibls.errors import ProblemError
from pibls.geometry import Domain
from pibls.problem.conditions import Periodic
from pibls.problem.forms.form import Form, PartialDerivative, SymbolTable
from pibls.problem.forms.integral import integral, integral_terms
from pibls.problem.regions.selection import Region, boundary_probes, region_of
from pibls.runtime.caching import cached_property

if TYPE_CHECKING:
    from pibls.problem.conditions import BaseCondition


@dataclass(frozen=True)
class Statement:
    """One residual and the region where it must vanish: a block of rows of the least-squares system."""

    form: Form
    region: Region

    @property
    def name(self) -> str:
        return self.form.name


def _without_deltas(form: Form) -> Form:
    if form.deltas:
        raise ProblemError(
            form.name,
            expected="finite values",
            got="DiracDelta",
            remedy="DiracDelta is allowed in equations only, as a source; use a narrow exp(-((x - a)/w)**2).",
        )
    return form


def condition_statements(
    conditions: tuple[BaseCondition, ...], domain: Domain, symbols: SymbolTable, interior: tuple[Form, ...]
) -> list[Statement]:
    """Return the statements of all conditions.

    A condition with ``on=None`` gets the part of the boundary that no other condition on its unknowns names.
    """
    labels = unique_labels([c.label for c in conditions])
    sums = [
        integral_terms(r, c.on, domain, symbols, label)
        if (r := c.residual(symbols.coordinates)).has(integral)
        else []
        for c, label in zip(conditions, labels, strict=True)
    ]
    regions = [s[0][1] if s else region_of(c, domain) for c, s in zip(conditions, sums, strict=True)]
    rows = zip(conditions, labels, regions, sums, strict=True)
    drafts = [
        _Draft(c, label, region, tuple(terms), tuple(_forms(c, terms, symbols, interior, label)))
        for c, label, region, terms in rows
    ]
    return [statement for draft in drafts for statement in draft.statements(drafts, domain)]


@dataclass(frozen=True)
class _Draft:
    """A condition with its forms, before the boundary is divided among the conditions with ``on=None``."""

    condition: BaseCondition
    label: str
    region: Region
    integrals: tuple[tuple[Form, Region], ...]
    """The terms of a condition with integrals and their regions, else empty."""
    forms: tuple[Form, ...]

    @cached_property
    def unknowns(self) -> set[int]:
        """The indices of the unknowns in the condition."""
        return {derivative.unknown for form in self.forms for derivative in form.derivatives}

    @property
    def is_on_named_boundary(self) -> bool:
        """Whether the condition names a part of the boundary."""
        return self.region.is_boundary and (self.region.sites == 2 or self.condition.on is not None)

    def statements(self, drafts: list[_Draft], domain: Domain) -> list[Statement]:
        """Return the statements on the part of the boundary that the other conditions leave."""
        if not self.unknowns:
            raise ProblemError(
                self.label,
                expected="an unknown in the condition",
                got=self.condition.label,
                remedy="A condition must contain an unknown of the equations.",
            )
        region = self.region
        if self.condition.on is None and region.sites == 1 and region.is_boundary:
            others = (d for d in drafts if self.unknowns & d.unknowns and d.is_on_named_boundary)
            region = _remaining(region, tuple(d.region for d in others), domain, self.label)
        if self.integrals:
            return [Statement(_without_deltas(form), where) for form, where in self.integrals]
        self._check_normal(region)
        return [Statement(form, region) for form in self.forms]

    def _check_normal(self, region: Region) -> None:
        if any(form.needs_normal for form in self.forms) and not region.has_normal:
            raise ProblemError(
                f"{self.label}: on",
                expected="a place on one side of the boundary, where the normal is defined",
                got=self.condition.on,
                remedy="Write the derivative explicitly with Condition(u.diff(x) - value, on=…).",
                in_file='Write the derivative explicitly: equation = "u_x = 0".',
            )


def _forms(
    condition: BaseCondition,
    integrals: Sequence[tuple[Form, Region]],
    symbols: SymbolTable,
    interior: tuple[Form, ...],
    label: str,
) -> list[Form]:
    """Return the forms of a condition: several if it is periodic or has integrals."""
    if isinstance(condition, Periodic):
        return _periodic_forms(condition, symbols, interior, label)
    if integrals:
        return [form for form, _ in integrals]
    return [_without_deltas(symbols.equation_form(condition.residual(symbols.coordinates), label))]


def _remaining(region: Region, taken: tuple[Region, ...], domain: Domain, label: str) -> Region:
    part = region.without(taken)
    if taken and not part.mask(boundary_probes(domain)).any():
        raise ProblemError(
            f"{label}: on",
            expected="a part of the boundary that no other condition on the same unknown names",
            got="None, and the other conditions already name all of it",
            remedy="Say where it holds with on=…; on=domain is the whole boundary.",
            in_file='Say where it holds with on = "x = 0"; on = "domain" is the whole boundary.',
        )
    return part


def _periodic_forms(
    condition: Periodic, symbols: SymbolTable, interior: tuple[Form, ...], label: str
) -> list[Form]:
    if condition.u not in symbols.unknowns:
        symbols.form(condition.u, label)  # raises, naming the unknown
    d = len(symbols.coordinates)
    index = symbols.unknowns.index(condition.u)
    axis = symbols.coordinates.index(condition.x)
    derivatives = [
        derivative for form in interior for derivative in form.derivatives if derivative.alpha[axis]
    ]
    orders = [derivative.alpha[axis] for derivative in derivatives if derivative.unknown == index]
    out = []
    # An unknown that no equation differentiates in x is determined by others that are: its values agree.
    for k in range(max(orders, default=int(bool(derivatives)))):
        alpha = tuple(k if i == axis else 0 for i in range(d))
        one = sp.Integer(1)
        linear = ((PartialDerivative(index, alpha, 1), one), (PartialDerivative(index, alpha, 0), -one))
        name = label if k == 0 else f"{label}, derivative {k}"
        out.append(Form(name, symbols.variables, linear, (), sp.Integer(0)))
    if not out:
        raise ProblemError(
            label,
            expected=f"an equation with a {condition.x}-derivative",
            got="none",
            remedy="A periodic condition is needed only where the equation differentiates.",
        )
    return out


def unique_labels(labels: list[str]) -> list[str]:
    """Return the labels with " (2)", " (3)", … appended to repeated ones."""
    out = []
    for i, label in enumerate(labels):
        before = labels[:i].count(label)
        out.append(label if not before else f"{label} ({before + 1})")
    return out
