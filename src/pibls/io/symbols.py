"""Names and SymPy assumptions of symbols: the sections [names] and [assumptions]."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sympy as sp

from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Unknown

ASSUMPTIONS = (
    "real", "positive", "nonnegative", "negative", "nonpositive", "nonzero", "zero", "finite", "infinite",
    "extended_real", "extended_positive", "extended_nonnegative", "extended_negative",
    "extended_nonpositive", "extended_nonzero", "complex", "hermitian", "antihermitian", "imaginary",
    "integer", "noninteger", "rational", "irrational", "algebraic", "transcendental", "even", "odd",
    "prime", "composite",
)  # fmt: skip
"""The assumptions, each of which may be preceded by "not"."""

_EXTRA_CHARACTERS = "_{}^\\"
"""Characters of a symbol name besides letters and digits: v_{max}, \\theta."""


def parse_assumptions(words: list[str], argument: str) -> dict[str, bool]:
    """Return {"real": True, "zero": False} for ["real", "not zero"]."""
    out = {}
    for word in words:
        assumption = word.removeprefix("not ")
        if assumption not in ASSUMPTIONS:
            raise ProblemError(
                argument,
                expected=f"an assumption of SymPy such as {', '.join(ASSUMPTIONS[:5])}",
                got=word,
                remedy="Remove it.",
            )
        out[assumption] = not word.startswith("not ")
    return out


def assumption_words(symbol: Coordinate) -> list[str]:
    """Return the fewest assumptions that reproduce a symbol; empty for a plain one."""
    return _minimal_words(
        symbol.assumptions0, lambda assumptions: sp.Symbol(symbol.name, **assumptions) == symbol
    )


def function_assumption_words(u: Unknown) -> list[str]:
    """Return the fewest assumptions that reproduce an unknown such as sympy.Function("u", real=True)(x)."""
    known = {k: v for k in ASSUMPTIONS if (v := getattr(u, f"is_{k}", None)) is not None}
    return _minimal_words(known, lambda assumptions: sp.Function(str(u.func), **assumptions) == u.func)


def _minimal_words(known: Mapping[str, bool], reproduces: Callable[[dict[str, bool]], bool]) -> list[str]:
    assumptions = {k: bool(v) for k, v in known.items() if k in ASSUMPTIONS}
    for assumption in ASSUMPTIONS:
        if assumptions.get(assumption) and reproduces({assumption: True}):
            return [assumption]
    for assumption in reversed(ASSUMPTIONS):
        rest = {k: v for k, v in assumptions.items() if k != assumption}
        if reproduces(rest):
            assumptions = rest
    return [k if v else f"not {k}" for k, v in assumptions.items()]


def check_symbol_name(name: str, argument: str) -> str:
    """Check the name of a SymPy symbol and return it."""
    if not 0 < len(name) <= 64 or not all(c.isalnum() or c in _EXTRA_CHARACTERS for c in name):
        raise ProblemError(
            argument,
            expected=f"a name of at most 64 letters, digits and {' '.join(_EXTRA_CHARACTERS)}",
            got=repr(name)[:80],
            remedy="Rename the symbol.",
        )
    return name
