"""A problem as a notebook shows it: typeset equations, conditions with their places, the domain drawn."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from pibls.domain import Domain, box_of, faces_of
from pibls.domain.face import Extruded, FlatFace
from pibls.problem.region import Inside, Pair, Part, Region, Slice, Spot
from pibls.problem.sketch import sketch
from pibls.problem.typeset import equation_latex, latex, name_latex, separated

if TYPE_CHECKING:
    from pibls.problem.problem import Problem


def problem_html(problem: Problem) -> str:
    """HTML with LaTeX between dollars, for MathJax."""
    regions = condition_regions(problem)
    names = ", ".join(latex(u) for u in problem.unknowns)
    coordinates = ", ".join(name_latex(str(c)) for c in problem.coordinates)
    kind = "Linear" if problem.is_linear else "Nonlinear"
    # A long equation scrolls by itself, without taking the page along.
    scrolled = '<div style="overflow-x:auto;overflow-y:hidden">'
    equations = "".join(f"{scrolled}$${escape(equation_latex(e))}$$</div>" for e in problem.equations)
    rows = "".join(
        f'<tr><td style="text-align:right"><b>{i + 1}</b></td>'
        f'<td style="text-align:left">{_inline(_condition(c, r, problem))}</td>'
        f'<td style="text-align:left">{_place(c, r, problem)}</td></tr>'
        for i, (c, r) in enumerate(zip(problem.conditions, regions, strict=True))
    )
    subject = f"<b>{kind} problem</b> for {_inline(names)} of {_inline(coordinates)}"
    return (
        f'<div class="pibls-problem"><p>{subject}, {_domain(problem.domain)}</p>{equations}'
        '<div style="display:flex;flex-wrap:wrap;align-items:center;gap:1.5em">'
        f"<table>{rows}</table>{sketch(problem.domain, regions)}</div></div>"
    )


def condition_regions(problem: Problem) -> tuple[Region, ...]:
    """Where each condition holds. (A periodic one is several statements, of which the first says it.)"""
    out = []
    for statement in problem.statements[len(problem.equations) :]:
        derived = isinstance(statement.region, Pair) and any(any(j.alpha) for j in statement.form.jets)
        if not derived:
            out.append(statement.region)
    return tuple(out)


def _inline(text: str) -> str:
    return f"${escape(text)}$"


def _domain(domain: Domain) -> str:
    flat = [f.face if isinstance(f, Extruded) else f for f in faces_of(domain)]
    if not all(isinstance(f, FlatFace) for f in flat):
        return f"on <code>{escape(repr(domain))}</code>"
    sides = [
        f"{a:g} < {name_latex(str(c))} < {b:g}"
        for c, (a, b) in zip(domain.coordinates, box_of(domain), strict=True)
    ]
    return _inline(r",\; ".join(sides))


def _condition(condition: Any, region: Region, problem: Problem) -> str:
    if isinstance(region, Pair):
        x, u = name_latex(str(condition.x)), latex(condition.u)
        return rf"{u}\big|_{{{x} = {region.low:g}}} = {u}\big|_{{{x} = {region.high:g}}}"
    written = getattr(condition, "equation", None)
    if written is not None:
        return equation_latex(written)
    return latex(separated(condition.residual(problem.coordinates)))


def _place(condition: Any, region: Region, problem: Problem) -> str:
    return _PLACES[type(region)](condition, region, problem)


def _part(condition: Any, region: Any, problem: Problem) -> str:
    if region.relation is not None:
        return f"on the boundary where {_inline(latex(region.relation.expression))}"
    if region.owners is not None:
        return f"on the boundary of <code>{escape(', '.join(map(repr, region.owners)))}</code>"
    return "on the rest of the boundary" if region.taken else "on the boundary"


def _slice(condition: Any, region: Any, problem: Problem) -> str:
    x = name_latex(str(problem.coordinates[region.axis]))
    if region.relation is not None:
        return f"where {_inline(latex(region.relation.expression))}"
    return f"at {_inline(f'{x} = {region.level:g}')}"


def _spot(condition: Any, region: Any, problem: Problem) -> str:
    values = ", ".join(
        f"{name_latex(str(c))} = {p:g}"
        for c, p in zip(problem.coordinates, region.point, strict=True)
        if p is not None
    )
    return f"at {_inline(values)}"


_PLACES: dict[type, Callable[[Any, Any, Any], str]] = {
    Part: _part,
    Slice: _slice,
    Spot: _spot,
    Pair: lambda condition, region, problem: "with its derivatives: periodic",
    Inside: lambda condition, region, problem: "in the domain",
}
