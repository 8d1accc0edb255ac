"""The legend of ``problem.plot()``: the conditions as typeset text that fits into a given width."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pibls.expressions import Coordinate, Equation, Logical, Unknown
from pibls.notebook.condition_text import PlainNotation, describe_conditions
from pibls.plot.backend import matplotlib
from pibls.plot.labels import typeset
from pibls.text.typeset import equation_latex, latex, name_latex

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pibls.problem.problem import Problem

_FONT_SIZE = "small"
_HANDLE_WIDTH = 0.55  # inches, of a handle with the space around it


class MathTextNotation:
    """Mathematical text of Matplotlib, or plain text where Matplotlib cannot typeset a formula."""

    def equation(self, e: Equation) -> str:
        return _typeset(equation_latex(e), PlainNotation().equation(e))

    def relation(self, e: Logical) -> str:
        return _typeset(latex(e), PlainNotation().relation(e))

    def point(self, values: Mapping[Coordinate, float]) -> str:
        plain = PlainNotation().point(values)
        return _typeset(", ".join(f"{name_latex(str(x))} = {v:g}" for x, v in values.items()), plain)

    def periodicity(self, u: Unknown, x: Coordinate, low: float, high: float) -> str:
        name, value = name_latex(str(x)), latex(u)
        sides = [rf"{value}|_{{{name} = {level:g}}}" for level in (low, high)]
        return _typeset(" = ".join(sides), PlainNotation().periodicity(u, x, low, high))

    def shape(self, value: object) -> str:
        return repr(value).replace("$", r"\$")


def condition_labels(problem: Problem, figure: Figure, width: float) -> list[str]:
    """Return a text for each condition, broken into lines that are at most ``width`` inches wide."""
    plain = describe_conditions(problem, PlainNotation())
    pairs = zip(describe_conditions(problem, MathTextNotation()), plain, strict=True)
    limit = (width - _HANDLE_WIDTH) * figure.dpi
    return [_label(f"{i + 1}: ", *pair, figure, limit) for i, pair in enumerate(pairs)]


def _label(
    number: str, typeset: tuple[str, str], plain: tuple[str, str], figure: Figure, limit: float
) -> str:
    for gap in (", ", ",\n    "):
        text = number + gap.join(typeset)
        if _width(text, figure) <= limit:
            return text
    letters = int(limit / _width("x" * 50, figure) * 50)
    text = short_numbers(", ".join(plain)).replace("$", r"\$")
    return textwrap.fill(number + text, max(letters, 20), subsequent_indent="    ")


def _width(text: str, figure: Figure) -> float:
    """Return the width of a text in the legend, in pixels."""
    measured = matplotlib("text").Text(text=text, fontsize=_FONT_SIZE)
    measured.set_figure(figure)
    return float(measured.get_window_extent().width)


def _typeset(text: str, plain: str) -> str:
    # ∂u/∂n as a fraction would be too small in a line of text.
    text = re.sub(r"\\frac\{\\partial ?((?:[^{}]|\{[^{}]*\})*)\}\{\\partial n\}", r"\\partial_n \1", text)
    return typeset(short_numbers(text), short_numbers(plain), display=False)


def short_numbers(text: str) -> str:
    """Return a text with its decimal numbers rounded to six digits.

    >>> short_numbers("x > 0.0200000000000000"), short_numbers("x^2 = 1.0")
    ('x > 0.02', 'x^2 = 1')
    """

    def rounded(match: re.Match[str]) -> str:
        shorter = f"{float(match[0]):.6g}"
        return match[0] if "e" in shorter else shorter

    return re.sub(r"\d+\.\d+", rounded, text)
