"""The words that read their arguments in their own way: derivatives, vectors, cases, exact copies."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import sympy as sp

from pibls.problem import dn, integral, known
from pibls.text.calculus import derivative, divergence, dot, gradient, laplacian
from pibls.text.limits import MAX_ORDER, MAX_PRECISION
from pibls.text.meaning import Meaning, apply
from pibls.text.names import Value
from pibls.text.pointing import nearest
from pibls.text.relations import relation
from pibls.text.tree import Call, Name, Negative, Node, Number, Power, Product, Sum
from pibls.text.words import FORMS


def form(reader: Meaning, node: Call) -> Value:
    """The value of one of `words.FORMS`."""
    space, builder, first = reader.names.space, reader.builder, node.arguments[0]
    match node.name:
        case "diff":
            return _diff(reader, node)
        case "laplacian":
            return laplacian(builder, reader.value(first), space)
        case "grad":
            return gradient(builder, reader.scalar(first), space)
        case "div":
            return divergence(builder, reader.vector(first, len(space)), space)
        case "dot":
            a = reader.vector(first)
            return dot(builder, a, reader.vector(node.arguments[1], len(a)))
        case "dn":
            return _normal(reader, first)
        case "integral":
            return builder.checked(integral(reader.scalar(first)))
        case "hold":
            return _hold(reader, first)
        case "float":
            return _float(reader, node)
        case "python":
            return _python(reader, node)
        case _:
            return _cases(reader, node)


def _diff(reader: Meaning, node: Call) -> Value:
    """diff(f, x), diff(f, x, 2), diff(f, x, x, y)."""
    return derivative(reader.builder, reader.value(node.arguments[0]), _variables(reader, node))


def _variables(reader: Meaning, node: Call) -> list[Any]:
    coordinates = reader.names.coordinates
    out: list[Any] = []
    for i, argument in enumerate(node.arguments[1:]):
        if isinstance(argument, Name) and argument.text in coordinates:
            out.append(coordinates[argument.text])
        elif isinstance(argument, Number) and i and isinstance(node.arguments[i], Name):
            out += [out[-1]] * (_order(reader, argument) - 1)
        else:
            known_names = ", ".join(coordinates)
            word = argument.text if isinstance(argument, (Name, Number)) else "an expression"
            remedy = nearest(word, coordinates) + "Write diff(u, x, 2), or diff(u, x, x, y)."
            raise reader.refusal(argument, f"a coordinate ({known_names}) or how many times", word, remedy)
    return out


def _order(reader: Meaning, node: Number) -> int:
    if not node.text.isdecimal() or len(node.text) > 3 or not 1 <= int(node.text) <= MAX_ORDER:
        raise reader.refusal(node, f"a whole number from 1 to {MAX_ORDER}", node.text, "Write diff(u, x, 2).")
    return int(node.text)


def _normal(reader: Meaning, node: Node) -> Any:
    """dn(f) = n·∇f, which the problem works out: only look whether it can."""
    inner = reader.scalar(node)
    gradient(reader.builder, inner, reader.names.space)
    return reader.builder.checked(dn(inner))


def _hold(reader: Meaning, node: Node) -> Any:
    """The operation itself, without the simplification that SymPy does by itself; its parts as usual."""
    builder = reader.builder
    match node:
        case Sum() if not any(node.minus):
            return builder.add([reader.scalar(t) for t in node.terms], hold=True)
        case Product() if not any(node.divides):
            return builder.multiply([reader.scalar(f) for f in node.factors], hold=True)
        case Power():
            return builder.power(reader.scalar(node.base), reader.scalar(node.exponent), hold=True)
        case Call() if node.name == "diff":
            inner, variables = reader.scalar(node.arguments[0]), _variables(reader, node)
            derivative(builder, inner, variables)  # the problem will ask for it: look whether it can be had
            return builder.checked(sp.Derivative(inner, *variables))
        case Call() if node.name not in FORMS and node.name not in reader.names.unknowns:
            reader.value(node)  # all the usual checks
            return apply(builder, node.name, [reader.scalar(a) for a in node.arguments], hold=True)
        case _:
            raise reader.refusal(
                node, "a sum, product, power or function", "something else", "Leave hold(…) out."
            )


def _float(reader: Meaning, node: Call) -> Any:
    """float(0.1): a number in floating point, of 53 bits or as many as are given."""
    first = node.arguments[0]
    literal = first.part if isinstance(first, Negative) else first
    precision = 53
    if not isinstance(literal, Number):
        raise reader.refusal(first, "a number", "an expression", "Write float(0.1).")
    if len(node.arguments) == 2:
        second = node.arguments[1]
        word = second.text if isinstance(second, Number) and second.text.isdecimal() else ""
        if not word or len(word) > 5 or not 1 <= int(word) <= MAX_PRECISION:
            raise reader.refusal(
                second, f"a number of bits, 1 to {MAX_PRECISION}", "something else", "Leave it out."
            )
        precision = int(word)
    sign = "-" if isinstance(first, Negative) else ""
    return reader.builder.checked(sp.Float(sign + str(Decimal(literal.text)), precision=precision))


def _python(reader: Meaning, node: Call) -> Any:
    """python(f, x, y): a Python function, which a text can only name."""
    first = node.arguments[0]
    functions, coordinates = reader.names.functions, reader.names.coordinates
    name = first.text if isinstance(first, Name) else "an expression"
    if not isinstance(first, Name) or name not in functions:
        raise reader.refusal(
            first,
            "a Python function that was given with the text",
            name,
            nearest(name, functions) + f'A text holds no Python: give functions={{"{name[:64]}": …}}.',
        )
    arguments = []
    for a in node.arguments[1:]:
        if not isinstance(a, Name) or a.text not in coordinates:
            raise reader.refusal(
                a, f"a coordinate ({', '.join(coordinates)})", "something else", "Name coordinates."
            )
        arguments.append(coordinates[a.text])
    return known(functions[name], *(arguments or coordinates.values()))


def _cases(reader: Meaning, node: Call) -> Any:
    """if(c₁, a₁, …, otherwise), and piecewise(c₁, a₁, …) without a value elsewhere."""
    otherwise = node.name == "if"
    if len(node.arguments) % 2 != otherwise:
        pattern = "if(condition, value, otherwise)" if otherwise else "piecewise(condition, value, …)"
        raise reader.refusal(
            node, pattern, f"{len(node.arguments)} arguments", "Give a value for each condition."
        )
    pairs = node.arguments[: len(node.arguments) - otherwise]
    branches = [
        (reader.scalar(value), relation(reader, condition))
        for condition, value in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    if otherwise:
        branches.append((reader.scalar(node.arguments[-1]), sp.true))
    # Evaluated, SymPy would solve the conditions for x.
    return reader.builder.checked(sp.Piecewise(*branches, evaluate=False))
