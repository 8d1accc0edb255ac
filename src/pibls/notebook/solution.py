"""HTML representation of a solution: status, estimated error, residuals, and a small plot."""

from __future__ import annotations

import base64
from html import escape
from io import BytesIO

from pibls.errors import PiblsError
from pibls.notebook.problem import problem_html
from pibls.plot.drawing import joint_scene, quantities_of, scene_of
from pibls.plot.panels import add_axes, file_figure
from pibls.plot.plot_kinds import plot_kind
from pibls.plot.style_sheet import style_context
from pibls.solution import Solution

_RESOLUTION = 61
_COLUMN_WIDTH = 28  # em, of each column of panels
_MAX_RESIDUALS = 6  # number of residuals that are listed, the largest first


def solution_html(solution: Solution) -> str:
    """Return HTML: a table, a plot if Matplotlib is installed, and the problem in a collapsed section."""
    rows = [("status", _status_text(solution)), ("estimated error", _error_text(solution))]
    rows += [
        ("nodes", f"{solution.nodes} per unknown, seed {solution.seed}"),
        ("time", f"{solution.seconds:.2g} s, {solution.steps} step{'s' * (solution.steps != 1)}"),
    ]
    if solution.windows:
        rows.append(("windows in time", f"{len(solution.windows)}"))
    residuals = sorted(solution.residuals.items(), key=lambda item: -item[1].relative)
    rows += [
        (f"residual of {escape(name)}", f"max {norm.max:.1e}, relative {norm.relative:.1e}")
        for name, norm in residuals[:_MAX_RESIDUALS]
    ]
    if len(residuals) > _MAX_RESIDUALS:
        rows.append((f"{len(residuals) - _MAX_RESIDUALS} more", "below these"))
    table = "".join(
        f'<tr><th style="text-align:left">{name}</th><td style="text-align:left">{value}</td></tr>'
        for name, value in rows
    )
    names = ", ".join(escape(str(u)) for u in solution.problem.unknowns)
    return (
        f'<div class="pibls-solution"><p><b>Solution</b> {names}</p>'
        '<div style="display:flex;flex-wrap:wrap;align-items:center;gap:1.5em">'
        f"<table>{table}</table>{_plot_html(solution)}</div>"
        f"<details><summary>Problem</summary>{problem_html(solution.problem)}</details></div>"
    )


def _status_text(solution: Solution) -> str:
    mark = "✓" if solution.converged else "✗"
    return f"{mark} {escape(solution.explanation)}"


def _error_text(solution: Solution) -> str:
    # With a given basis the estimate takes a second solve, which displaying a solution must not start.
    if "error" in solution.__dict__ or solution.history:
        return str(solution.error)
    return "not estimated yet: use <code>solution.error</code>"


def _plot_html(solution: Solution) -> str:
    try:
        scene = scene_of(solution, *quantities_of(solution, (), None), resolution=_RESOLUTION)
        picture = plot_kind(joint_scene(scene), None)
        panels = picture.panels()
        file = BytesIO()
        with style_context():
            figure = file_figure(panels)
            picture.draw(add_axes(figure, panels))
            figure.savefig(file, format="png", dpi=100)
    except PiblsError:
        return ""  # Matplotlib is not installed, or the central section does not meet the domain
    data = base64.b64encode(file.getvalue()).decode()
    names = escape(", ".join(map(str, solution.problem.unknowns)))
    width = f"max-width:min(100%, {_COLUMN_WIDTH * len(panels.widths)}em)"
    return f'<img alt="{names}" style="{width}" src="data:image/png;base64,{data}"/>'
