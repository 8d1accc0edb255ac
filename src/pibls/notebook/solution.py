"""A solution as a notebook shows it: what came out, how far to trust it, and a small picture."""

from __future__ import annotations

import base64
from html import escape
from io import BytesIO

from pibls.errors import PiblsError
from pibls.notebook.problem import problem_html
from pibls.plot.canvas import add_axes, figure_of
from pibls.plot.choose import picture_of
from pibls.plot.show import quantities_of, scene_of
from pibls.solution import Solution

_RESOLUTION = 61
_WIDTH = 28  # em, of each column of panels
_MANY = 6  # residuals beyond these are folded into their worst


def solution_html(solution: Solution) -> str:
    """HTML: a table, a picture where matplotlib is installed, and the problem behind a fold."""
    rows = [("status", _status(solution)), ("estimated error", _error(solution))]
    rows += [
        ("nodes", f"{solution.nodes} per unknown, seed {solution.seed}"),
        ("time", f"{solution.seconds:.2g} s, {solution.steps} step{'s' * (solution.steps != 1)}"),
    ]
    if solution.windows:
        rows.append(("windows in time", f"{len(solution.windows)}"))
    residuals = sorted(solution.residuals.items(), key=lambda item: -item[1].relative)
    rows += [
        (f"residual of {escape(name)}", f"max {norm.max:.1e}, relative {norm.relative:.1e}")
        for name, norm in residuals[:_MANY]
    ]
    if len(residuals) > _MANY:
        rows.append((f"{len(residuals) - _MANY} more", "below these"))
    table = "".join(
        f'<tr><th style="text-align:left">{name}</th><td style="text-align:left">{value}</td></tr>'
        for name, value in rows
    )
    names = ", ".join(escape(str(u)) for u in solution.problem.unknowns)
    return (
        f'<div class="pibls-solution"><p><b>Solution</b> {names}</p>'
        '<div style="display:flex;flex-wrap:wrap;align-items:center;gap:1.5em">'
        f"<table>{table}</table>{_picture(solution)}</div>"
        f"<details><summary>Problem</summary>{problem_html(solution.problem)}</details></div>"
    )


def _status(solution: Solution) -> str:
    mark = "✓" if solution.converged else "✗"
    return f"{mark} {escape(solution.explanation)}"


def _error(solution: Solution) -> str:
    # Of a solve with a given basis the estimate takes a second solve: not for a look at it.
    if "error" in solution.__dict__ or solution.history:
        return str(solution.error)
    return "not estimated yet: ask <code>solution.error</code>"


def _picture(solution: Solution) -> str:
    try:
        scene = scene_of(solution, *quantities_of(solution, (), None), resolution=_RESOLUTION)
        picture = picture_of(scene, None)
        panels = picture.panels()
        figure = figure_of(panels)
        picture.draw(add_axes(figure, panels))
        file = BytesIO()
        figure.savefig(file, format="png", dpi=100)
    except PiblsError:
        return ""  # no matplotlib, or nothing to see in the middle: the table says enough
    data = base64.b64encode(file.getvalue()).decode()
    names = escape(", ".join(map(str, solution.problem.unknowns)))
    width = f"max-width:min(100%, {_WIDTH * len(panels.widths)}em)"
    return f'<img alt="{names}" style="{width}" src="data:image/png;base64,{data}"/>'
