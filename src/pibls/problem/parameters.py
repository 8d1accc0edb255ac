"""Parameters of a problem: validation of symbols and values, and their replacement by other values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from math import isfinite

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression, Number, Parameter, Unknown


def read_parameters(
    parameters: Mapping[Parameter, Number] | None,
    coordinates: Sequence[Coordinate],
    unknowns: Sequence[Unknown],
) -> dict[Parameter, float]:
    """Return ``{symbol: value}`` after checking that names are unique and values are finite numbers."""
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise ProblemError(
            "parameters",
            expected="a mapping of SymPy symbols to numbers",
            got=repr(parameters),
            remedy="Write parameters={k: 2.0}.",
        )
    out: dict[Parameter, float] = {}
    for symbol, value in parameters.items():
        if not isinstance(symbol, sp.Symbol):
            raise ProblemError(
                "parameters",
                expected="SymPy symbols with values",
                got=repr(symbol),
                remedy='Write k = sympy.Symbol("k") and parameters={k: 2.0}; '
                "a quantity that depends on the coordinates is not a parameter.",
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
                remedy="Symbols of one name with different assumptions are different symbols: use one.",
            )
        out[symbol] = parameter_value(value, f"parameters[{symbol}]")
    return out


def parameter_value(value: Number, argument: str) -> float:
    """Return the value as a float; raise a ProblemError unless it is a finite real number."""
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
            remedy="Give one value, such as 2.0; write a dependence on the coordinates into the equation.",
        )
    return number


def updated_parameters(
    values: Mapping[Parameter, float],
    given: Sequence[Mapping[Parameter, Number]],
    named: Mapping[str, Number],
) -> dict[Parameter, float]:
    """Return the values updated as in at({k: 3.0}) or at(k=3.0)."""
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


def find_parameter(key: Parameter | str, values: Mapping[Parameter, float], argument: str) -> Parameter:
    """Return the parameter that is this symbol or has this name."""
    by_name = {s.name: s for s in values}
    found = key if key in values else by_name.get(key) if isinstance(key, str) else None
    if found is None:
        close = get_close_matches(str(key), by_name, n=1)
        other = by_name.get(str(key))
        hint = f"Did you mean {close[0]}? " if close and other is None else ""
        if other is not None:
            hint = "A symbol of the same name with different assumptions is a different symbol. "
        raise ProblemError(
            f"{argument}({key})",
            expected=f"a parameter of the problem ({', '.join(by_name) or 'it has none'})",
            got=repr(key),
            remedy=f"{hint}Declare it: Problem(…, parameters={{{key}: …}}).",
        )
    return found


def check_used(values: Mapping[Parameter, float], expressions: Sequence[Expression]) -> None:
    """Raise a ProblemError for a parameter that no equation or condition contains."""
    there: set[Parameter] = set().union(*(e.free_symbols for e in expressions)) if expressions else set()
    for symbol in values:
        if symbol not in there:
            twin = next((s for s in there if str(s) == str(symbol)), None)
            raise ProblemError(
                f"parameters[{symbol}]",
                expected="a parameter that occurs in an equation or a condition",
                got=f"{symbol}, which occurs in none",
                remedy="Symbols of one name with different assumptions are different symbols: use one."
                if twin is not None
                else "Remove it, or check the spelling of its name.",
            )
    # u(x, k) would make the parameter k a coordinate, which the domain does not have.
    for e in expressions:
        for applied in e.atoms(AppliedUndef):
            if applied.free_symbols & values.keys():
                raise ProblemError(
                    "parameters",
                    expected="unknowns of the coordinates only",
                    got=applied,
                    remedy="Unknowns depend on parameters implicitly: solution.sensitivity(k) is ∂u/∂k.",
                )
