"""Symbols by name and by what SymPy may assume of them: x, "θ" called theta, "x > 0"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from pibls.errors import ProblemError

FACTS = (
    "real", "positive", "nonnegative", "negative", "nonpositive", "nonzero", "zero", "finite", "infinite",
    "extended_real", "extended_positive", "extended_nonnegative", "extended_negative",
    "extended_nonpositive", "extended_nonzero", "complex", "hermitian", "antihermitian", "imaginary",
    "integer", "noninteger", "rational", "irrational", "algebraic", "transcendental", "even", "odd",
    "prime", "composite",
)  # fmt: skip
"""What can be assumed; each may be preceded by "not"."""

_MARKS = "_{}^\\"
"""What a symbol's own name may hold besides letters and digits: v_{max}, \\theta."""


def assumed(words: list[str], argument: str) -> dict[str, bool]:
    """{"real": True, "zero": False} from ["real", "not zero"]."""
    out = {}
    for word in words:
        fact = word.removeprefix("not ")
        if fact not in FACTS:
            raise ProblemError(
                argument, expected=f"words such as {', '.join(FACTS[:5])}", got=word, remedy="Leave it out."
            )
        out[fact] = not word.startswith("not ")
    return out


def facts_of(symbol: Any) -> list[str]:
    """The fewest words that make the same symbol again; none for a plain one."""
    return _fewest(symbol.assumptions0, lambda facts: sp.Symbol(symbol.name, **facts) == symbol)


def facts_of_function(u: Any) -> list[str]:
    """The same for an unknown, such as sympy.Function("u", real=True)(x)."""
    known = {k: v for k in FACTS if (v := getattr(u, f"is_{k}", None)) is not None}
    return _fewest(known, lambda facts: sp.Function(str(u.func), **facts) == u.func)


def _fewest(known: Mapping[str, Any], makes_it: Callable[[dict[str, bool]], bool]) -> list[str]:
    facts = {k: bool(v) for k, v in known.items() if k in FACTS}
    for fact in FACTS:
        if facts.get(fact) and makes_it({fact: True}):
            return [fact]
    for fact in reversed(FACTS):
        rest = {k: v for k, v in facts.items() if k != fact}
        if makes_it(rest):
            facts = rest
    return [k if v else f"not {k}" for k, v in facts.items()]


def own_name(name: str, argument: str) -> str:
    """A name that a symbol may have, but that is not a name of the language."""
    if not 0 < len(name) <= 64 or not all(c.isalnum() or c in _MARKS for c in name):
        raise ProblemError(
            argument,
            expected=f"a name of at most 64 letters, digits and {' '.join(_MARKS)}",
            got=repr(name)[:80],
            remedy="Rename the symbol.",
        )
    return name
