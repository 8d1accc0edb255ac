"""R[u] = 0 on a region: what equations and conditions become, each with the place where it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from pibls.errors import ProblemError
from pibls.geometry import Domain
from pibls.problem.conditions import Periodic
from pibls.problem.forms.form import Form, Jet, Language
from pibls.problem.forms.integral import integral, totals
from pibls.problem.regions.on import Region, probe, region_of


@dataclass(frozen=True)
class Statement:
    """One residual and where it must vanish: a row block of the least-squares system to be."""

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
            remedy="It stands in equations only, as a source; a narrow exp(-((x - a)/w)**2) is finite.",
        )
    return form


def state_conditions(
    conditions: tuple[Any, ...], domain: Domain, language: Language, interior: tuple[Form, ...]
) -> list[Statement]:
    labels = distinct([c.label for c in conditions])
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
    jets = [jet for form in interior for jet in form.jets if jet.alpha[axis]]
    orders = [jet.alpha[axis] for jet in jets if jet.unknown == index]
    out = []
    # An unknown that is not differentiated follows others that are: its values agree.
    for k in range(max(orders, default=int(bool(jets)))):
        alpha = tuple(k if i == axis else 0 for i in range(d))
        one = sp.Integer(1)
        linear = ((Jet(index, alpha, 1), one), (Jet(index, alpha, 0), -one))
        name = label if k == 0 else f"{label}, derivative {k}"
        out.append(Form(name, language.variables, linear, (), sp.Integer(0)))
    if not out:
        raise ProblemError(
            label,
            expected=f"an equation with a {condition.x}-derivative",
            got="none",
            remedy="A periodic condition is needed only where the equation differentiates.",
        )
    return out


def distinct(labels: list[str]) -> list[str]:
    out = []
    for i, label in enumerate(labels):
        before = labels[:i].count(label)
        out.append(label if not before else f"{label} ({before + 1})")
    return out
