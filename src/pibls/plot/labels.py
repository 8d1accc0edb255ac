"""Axis labels: typeset names with units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pibls.expressions import Coordinate, Expression
from pibls.plot.backend import matplotlib
from pibls.problem import Problem
from pibls.sampling import units_of
from pibls.text.typeset import name_latex


@dataclass(frozen=True)
class Labels:
    """Labels with units; ``units`` maps the names of coordinates and unknowns to text."""

    units: Mapping[str, str]

    @classmethod
    def of(cls, problem: Problem, units: Mapping[Expression | str, str] | None) -> Labels:
        """Return labels with these units, after checking their names."""
        return cls(units_of(problem, units))

    def coordinate(self, symbol: Coordinate) -> str:
        """Return the label of a coordinate."""
        return self._with_unit(typeset(name_latex(str(symbol)), str(symbol)), str(symbol))

    def quantity(self, latex: str, name: str, unit_of: str | None) -> str:
        """Return the label of a quantity that has the unit of an unknown."""
        return self._with_unit(typeset(latex, name), unit_of)

    def quantities(self, symbols: Iterable[str], unit_of: str | None) -> str:
        """Return the label of several quantities with one unit, from their typeset symbols."""
        return self._with_unit(", ".join(symbols), unit_of)

    def unit(self, name: str | None) -> str | None:
        """Return the unit of an unknown, or None."""
        return self.units.get(name) if name is not None else None

    def fixed_values(self, values: Iterable[tuple[Coordinate, float]]) -> str:
        """Return text such as "x = 0.5, t = 1 s"."""
        parts = []
        for symbol, value in values:
            unit = self.units.get(str(symbol))
            text = typeset(f"{name_latex(str(symbol))} = {number(value)}", f"{symbol} = {value:.3g}")
            parts.append(f"{text} {_unit(unit)}" if unit else text)
        # Two per line, because in five dimensions three coordinates are fixed.
        lines = [", ".join(parts[i : i + 2]) for i in range(0, len(parts), 2)]
        return ",\n".join(lines)

    def _with_unit(self, text: str, name: str | None) -> str:
        unit = self.unit(name)
        return f"{text} ({_unit(unit)})" if unit else text


def _unit(text: str) -> str:
    """Return a unit with an unpaired dollar sign escaped; a pair encloses mathematical text."""
    return text if text.count("$") % 2 == 0 else text.replace("$", r"\$")


def number(value: float) -> str:
    r"""Return a number as LaTeX with three digits and an explicit power of ten.

    >>> number(0.25), number(-1.5e-7)
    ('0.25', '-1.5 \\times 10^{-7}')
    """
    text = f"{value:.3g}"
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    return rf"{mantissa} \times 10^{{{int(exponent)}}}"


def typeset(latex: str, plain: str, *, display: bool = True) -> str:
    """Return ``$latex$`` if Matplotlib can typeset it, else the plain text; ``display``: large fractions."""
    text = latex.replace(r"\frac", r"\dfrac") if display else latex
    return f"${text}$" if _can_set(text) else plain.replace("$", r"\$")


@lru_cache(maxsize=256)
def _can_set(latex: str) -> bool:
    try:
        matplotlib("mathtext").MathTextParser("path").parse(f"${latex}$")
    except ValueError:
        return False
    return True
