"""72 further problems from textbooks of many fields, by another author.

Statements were written without knowledge of the solver. References are exact solutions, series or integrals
summed to convergence, or computations of `validation.references`, compared with a second, independent one.
"""

from __future__ import annotations

from collections.abc import Iterator

from validation.entry import Entry
from validation.fresh import (
    chemistry,
    conductors,
    elasticity,
    electricity,
    fluids,
    heat,
    ill_posed,
    mechanics,
    shapes,
    waves,
)
from validation.statements.statement import statements_of

STATEMENTS = statements_of(
    (chemistry, conductors, elasticity, electricity, fluids, heat, ill_posed, mechanics, shapes, waves)
)


def entries() -> Iterator[Entry]:
    """Yield the problems by group."""
    return (statement.entry("fresh") for statement in STATEMENTS)
