"""HTML representation of a problem: typeset equations, conditions, and a sketch of the domain."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from pibls.geometry import Domain, box_of, faces_of
from pibls.notebook.condition_text import HtmlNotation, describe_conditions, inline
from pibls.notebook.sketch import sketch
from pibls.problem.problem import condition_regions
from pibls.text.typeset import equation_latex, latex, name_latex

if TYPE_CHECKING:
    from pibls.problem.problem import Problem


def problem_html(problem: Problem) -> str:
    """Return HTML with LaTeX between dollars, for MathJax."""
    regions = condition_regions(problem)
    names = ", ".join(latex(u) for u in problem.unknowns)
    coordinates = ", ".join(name_latex(str(c)) for c in problem.coordinates)
    kind = "Linear" if problem.is_linear else "Nonlinear"
    # A long equation scrolls separately from the page.
    scrolled = '<div style="overflow-x:auto;overflow-y:hidden">'
    equations = "".join(f"{scrolled}$${escape(equation_latex(e))}$$</div>" for e in problem.equations)
    rows = "".join(
        f'<tr><td style="text-align:right"><b>{i + 1}</b></td>'
        f'<td style="text-align:left">{what}</td><td style="text-align:left">{where}</td></tr>'
        for i, (what, where) in enumerate(describe_conditions(problem, HtmlNotation()))
    )
    subject = f"<b>{kind} problem</b> for {inline(names)} of {inline(coordinates)}"
    return (
        f'<div class="pibls-problem"><p>{subject}, {_domain(problem.domain)}</p>{equations}'
        '<div style="display:flex;flex-wrap:wrap;align-items:center;gap:1.5em">'
        f"<table>{rows}</table>{sketch(problem.domain, regions)}</div></div>"
    )


def _domain(domain: Domain) -> str:
    if any(face.plane() is None for face in faces_of(domain)):
        return f"on <code>{escape(repr(domain))}</code>"
    sides = [
        f"{a:g} < {name_latex(str(c))} < {b:g}"
        for c, (a, b) in zip(domain.coordinates, box_of(domain), strict=True)
    ]
    return inline(r",\; ".join(sides))
