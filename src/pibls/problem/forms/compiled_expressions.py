"""Compilation of SymPy expressions to one NumPy function with shared subexpressions.

SymPy's lambdify with common subexpression elimination takes longer than the solution for a system of thirty
equations. Here each distinct subexpression becomes one line of a straight-line program, in time proportional
to the number of subexpressions. Functions that are not elementary are compiled by lambdify, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import sympy as sp

from pibls.arrays import Array, PointFunction
from pibls.expressions import Expression

_ELEMENTARY: dict[type[sp.Basic], str] = {
    sp.exp: "exp", sp.log: "log", sp.sin: "sin", sp.cos: "cos", sp.tan: "tan", sp.asin: "arcsin",
    sp.acos: "arccos", sp.atan: "arctan", sp.sinh: "sinh", sp.cosh: "cosh", sp.tanh: "tanh",
    sp.asinh: "arcsinh", sp.acosh: "arccosh", sp.atanh: "arctanh", sp.Abs: "absolute", sp.sign: "sign",
    sp.floor: "floor", sp.ceiling: "ceil", sp.atan2: "arctan2",
}  # fmt: skip
_PLAIN = (sp.Max, sp.Min, sp.Heaviside, sp.Piecewise, sp.sinc, sp.cot, sp.sec, sp.csc)
"""Functions that lambdify can express with NumPy; all others need SciPy."""
Program: TypeAlias = Callable[..., Sequence[Array | float]]
"""A function of numbers and arrays that returns one value per expression."""


def compile_expressions(arguments: Sequence[sp.Symbol], expressions: Sequence[Expression]) -> Program:
    """Return a function of the arguments (symbols) that evaluates the list of expressions.

    >>> x, y = sp.symbols("x y")
    >>> compile_expressions([x, y], [x * y, sp.sin(x * y) ** 2])(0.5, 2.0)
    [1.0, np.float64(0.7080734182735712)]
    """
    if all(e.is_number for e in expressions):
        return Constants([float(e) for e in expressions])
    return Compiled(tuple(arguments), tuple(expressions))


class Compiled:
    """Expressions as a compiled function; unpickling compiles them again."""

    def __init__(self, arguments: tuple[sp.Symbol, ...], expressions: tuple[Expression, ...]) -> None:
        self.arguments, self.expressions = arguments, expressions
        self._function = _compiled(arguments, expressions)

    def __call__(self, *values: Array | float) -> Sequence[Array | float]:
        return self._function(*values)

    def __reduce__(self) -> tuple[object, ...]:
        return Compiled, (self.arguments, self.expressions)


def _compiled(arguments: Sequence[sp.Symbol], expressions: Sequence[Expression]) -> Program:
    writer = _Writer({s: f"a{i}" for i, s in enumerate(arguments)})
    results = [writer.name(e) for e in expressions]
    head = ", ".join(f"a{i}" for i in range(len(arguments)))
    body = [*writer.lines, f"return [{', '.join(results)}]"]
    source = f"def program({head}):\n" + "".join(f"    {line}\n" for line in body)
    scope: dict[str, Any] = {"np": np, **writer.functions}
    exec(compile(source, "<pibls program>", "exec"), scope)  # contains only numbers and generated names
    made: Program = scope["program"]
    return made


class Constants:
    """Constant expressions as a function that ignores its arguments."""

    def __init__(self, values: list[float]) -> None:
        self.values = values
        self.column = np.array(values).reshape(-1, 1)

    def __call__(self, *_: object) -> list[float]:
        return self.values


class _Writer:
    def __init__(self, names: dict[sp.Symbol, str]) -> None:
        self.names = names
        self.lines: list[str] = []
        self.functions: dict[str, PointFunction] = {}
        self._arguments = tuple(names)

    def name(self, e: Expression) -> str:
        """Return the variable that holds the value of an expression, or the text of a number."""
        found = self.names.get(e)
        if found is not None:
            return found
        if e.is_number:
            return _number(e)
        text = self._text(e)
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.names[e] = name
        return name

    def _text(self, e: Expression) -> str:
        if e.is_Add:
            return self._sum(e)
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow:
            return self._power(e.base, e.exp)
        word = _ELEMENTARY.get(e.func)
        if word is not None and (len(e.args) == 1 or e.func is sp.atan2):
            return f"np.{word}({', '.join(self.name(a) for a in e.args)})"
        return self._foreign(e)

    def _sum(self, e: Expression) -> str:
        out = ""
        for term in e.args:
            sign, rest = (" - ", -term) if term.could_extract_minus_sign() and term.is_Mul else (" + ", term)
            out += sign + self.name(rest)
        return out.removeprefix(" + ").strip()

    def _product(self, e: Expression) -> str:
        over, under, sign = [], [], ""
        for factor in e.args:
            if factor is sp.S.NegativeOne:
                sign = "-"
            elif factor.is_Pow and factor.exp.is_number and factor.exp.is_negative:
                under.append(self.name(sp.Pow(factor.base, -factor.exp)))
            elif factor.is_Rational and factor.p in (1, -1) and factor.q != 1:
                sign = "-" if factor.p < 0 else ""
                under.append(_number(factor.q))
            else:
                over.append(self.name(factor))
        text = sign + ("*".join(over) or "1.0")
        if len(under) == 1:
            return f"{text}/{under[0]}"
        return f"{text}/({'*'.join(under)})" if under else text

    def _power(self, base: Expression, exponent: Expression) -> str:
        if exponent.is_number and exponent.is_negative:
            return f"1.0/{self.name(sp.Pow(base, -exponent))}"
        b = self.name(base)
        if exponent == sp.Rational(1, 2):
            return f"np.sqrt({b})"
        if exponent == sp.Rational(3, 2):
            return f"{b}*np.sqrt({b})"
        if exponent.is_Integer:
            n = int(exponent)
            return "*".join([b] * n) if n <= 3 else f"{b}**{n}"
        return f"np.power({b}, {self.name(exponent)})"

    def _foreign(self, e: Expression) -> str:
        symbols = sorted(e.free_symbols, key=str)
        special = any(f.func not in _ELEMENTARY and f.func not in _PLAIN for f in e.atoms(sp.Function))
        modules = ["scipy", "numpy"] if special else ["numpy"]
        name = f"f{len(self.functions)}"
        self.functions[name] = sp.lambdify(symbols, e, modules=modules)
        return f"{name}({', '.join(self.name(s) for s in symbols)})"


def _number(e: Expression) -> str:
    value = complex(e)
    return f"({value.real!r})" if value.imag == 0 else f"({value!r})"
