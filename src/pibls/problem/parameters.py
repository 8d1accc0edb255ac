"""N[u; k] = f(k): symbols with values, and the same problem at other values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.errors import ProblemError


def read_parameters(parameters: Any, coordinates: Sequence[Any], unknowns: Sequence[Any]) -> dict[Any, float]:
    """{k: 2.0} with SymPy symbols and finite numbers, checked against what else the problem names."""
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise ProblemError(
            "parameters",
            expected="a mapping of SymPy symbols to numbers",
            got=repr(parameters),
            remedy="Write parameters={k: 2.0}.",
        )
    out: dict[Any, float] = {}
    for symbol, value in parameters.items():
        if not isinstance(symbol, sp.Symbol):
            raise ProblemError(
                "parameters",
                expected="SymPy symbols with values",
                got=repr(symbol),
                remedy='Write k = sympy.Symbol("k") and parameters={k: 2.0}; '
                "what depends on the coordinates is no parameter.",
            )
        if symbol in coordinates:
            raise ProblemError(
                "parameters",
                expected=f"symbols other than the coordinates {tuple(coordinates)}",
                got=symbol,
                remedy="A coordinate has no value; rename one of the two.",
            )
        if str(symbol) in {str(u.func) for u in unknowns}:
            raise ProblemError(
                "parameters",
                expected=f"names other than those of the unknowns ({', '.join(map(str, unknowns))})",
                got=symbol,
                remedy="Rename the parameter or the unknown.",
            )
        if str(symbol) in map(str, out):
            raise ProblemError(
                "parameters",
                expected="each name once",
                got=f"two symbols called {symbol}",
                remedy="Symbols of one name with other assumptions are two symbols: use one of them.",
            )
        out[symbol] = parameter_value(value, f"parameters[{symbol}]")
    return out


def parameter_value(value: Any, argument: str) -> float:
    """A finite real number."""
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not isfinite(number):
        raise ProblemError(
            argument,
            expected="a finite number",
            got=repr(value),
            remedy="Give one value, such as 2.0; what depends on the coordinates stands in the equation.",
        )
    return number


def changed(values: Mapping[Any, float], given: Sequence[Any], named: Mapping[str, Any]) -> dict[Any, float]:
    """The values with others in their place: at({k: 3.0}) or at(k=3.0)."""
    if len(given) > 1 or (given and not isinstance(given[0], Mapping)):
        raise ProblemError(
            "at(parameters)",
            expected="values by name, or one mapping of parameters to values",
            got=", ".join(map(repr, given)),
            remedy="Write problem.at(k=3.0) or problem.at({k: 3.0}).",
        )
    wanted = [*(given[0].items() if given else ()), *named.items()]
    out = dict(values)
    for key, value in wanted:
        symbol = find_parameter(key, values, "at")
        out[symbol] = parameter_value(value, f"at({symbol})")
    return out


def find_parameter(key: Any, values: Mapping[Any, float], argument: str) -> Any:
    """The parameter that is this symbol, or has this name."""
    by_name = {s.name: s for s in values}
    found = key if key in values else by_name.get(key) if isinstance(key, str) else None
    if found is None:
        close = get_close_matches(str(key), by_name, n=1)
        other = by_name.get(str(key))
        hint = f"Did you mean {close[0]}? " if close and other is None else ""
        if other is not None:
            hint = "A symbol of the same name with other assumptions is another one. "
        raise ProblemError(
            f"{argument}({key})",
            expected=f"a parameter of the problem ({', '.join(by_name) or 'it has none'})",
            got=repr(key),
            remedy=f"{hint}Declare it: Problem(…, parameters={{{key}: …}}).",
        )
    return found


def check_used(values: Mapping[Any, float], expressions: Sequence[Any]) -> None:
    """Each parameter stands somewhere; one that does not is a misspelt one."""
    there: set[Any] = set().union(*(e.free_symbols for e in expressions)) if expressions else set()
    for symbol in values:
        if symbol not in there:
            twin = next((s for s in there if str(s) == str(symbol)), None)
            raise ProblemError(
                f"parameters[{symbol}]",
                expected="a parameter that stands in an equation or a condition",
                got=f"{symbol}, which stands in none",
                remedy="A symbol of the same name with other assumptions is another one: use one of them."
                if twin is not None
                else "Leave it out, or look for a misspelt name.",
            )
    # An unknown of a parameter, u(x, k), is a function of it, which the domain would have to know.
    for e in expressions:
        for applied in e.atoms(AppliedUndef):
            if applied.free_symbols & values.keys():
                raise ProblemError(
                    "parameters",
                    expected="unknowns of the coordinates only",
                    got=applied,
                    remedy="The solution depends on its parameters by itself: solution.sensitivity(k).",
                )
