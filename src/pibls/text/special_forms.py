"""Special forms, which interpret their arguments themselves: diff, grad, div, if, hold, python, …"""

from __future__ import annotations

from decimal import Decimal

import sympy as sp

from pibls.expressions import Coordinate, Expression
from pibls.problem import dn, integral, known
from pibls.text.calculus import derivative, divergence, dot, gradient, laplacian
from pibls.text.errors import did_you_mean
from pibls.text.function_table import SPECIAL_FORMS
from pibls.text.interpreter import Interpreter, apply
from pibls.text.limits import MAX_ORDER, MAX_PRECISION
from pibls.text.names import Value
from pibls.text.relations import relation
from pibls.text.syntax_tree import Call, Name, Negative, Node, Number, Power, Product, Sum


def interpret_special_form(interpreter: Interpreter, node: Call) -> Value:
    """Return the value of a call of one of `function_table.SPECIAL_FORMS`."""
    space, builder, first = interpreter.names.space, interpreter.builder, node.arguments[0]
    match node.name:
        case "diff":
            return _diff(interpreter, node)
        case "laplacian":
            return laplacian(builder, interpreter.value(first), space)
        case "grad":
            return gradient(builder, interpreter.scalar(first), space)
        case "div":
            return divergence(builder, interpreter.vector(first, len(space)), space)
        case "dot":
            a = interpreter.vector(first)
            return dot(builder, a, interpreter.vector(node.arguments[1], len(a)))
        case "dn":
            return _normal(interpreter, first)
        case "integral":
            return builder.checked(integral(interpreter.scalar(first)))
        case "hold":
            return _hold(interpreter, first)
        case "float":
            return _float(interpreter, node)
        case "python":
            return _python(interpreter, node)
        case _:
            return _cases(interpreter, node)


def _diff(interpreter: Interpreter, node: Call) -> Value:
    """Interpret diff(f, x), diff(f, x, 2) and diff(f, x, x, y)."""
    return derivative(
        interpreter.builder, interpreter.value(node.arguments[0]), _variables(interpreter, node)
    )


def _variables(interpreter: Interpreter, node: Call) -> list[Coordinate]:
    coordinates = interpreter.names.coordinates
    out: list[Coordinate] = []
    for i, argument in enumerate(node.arguments[1:]):
        if isinstance(argument, Name) and argument.text in coordinates:
            out.append(coordinates[argument.text])
        elif isinstance(argument, Number) and i and isinstance(node.arguments[i], Name):
            out += [out[-1]] * (_order(interpreter, argument) - 1)
        else:
            known_names = ", ".join(coordinates)
            word = argument.text if isinstance(argument, (Name, Number)) else "an expression"
            remedy = did_you_mean(word, coordinates) + "Write diff(u, x, 2), or diff(u, x, x, y)."
            raise interpreter.error_at(
                argument, f"a coordinate ({known_names}) or the order of differentiation", word, remedy
            )
    return out


def _order(interpreter: Interpreter, node: Number) -> int:
    if not node.text.isdecimal() or len(node.text) > 3 or not 1 <= int(node.text) <= MAX_ORDER:
        raise interpreter.error_at(
            node, f"a whole number from 1 to {MAX_ORDER}", node.text, "Write diff(u, x, 2)."
        )
    return int(node.text)


def _normal(interpreter: Interpreter, node: Node) -> Expression:
    """Interpret dn(f) = n·∇f. The problem expands it; here only its size is checked."""
    inner = interpreter.scalar(node)
    gradient(interpreter.builder, inner, interpreter.names.space)
    return interpreter.builder.checked(dn(inner))


def _hold(interpreter: Interpreter, node: Node) -> Expression:
    """Interpret hold(a + b): the outermost operation without the automatic simplification of SymPy."""
    builder = interpreter.builder
    match node:
        case Sum() if not any(node.minus):
            return builder.add([interpreter.scalar(t) for t in node.terms], hold=True)
        case Product() if not any(node.divides):
            return builder.multiply([interpreter.scalar(f) for f in node.factors], hold=True)
        case Power():
            return builder.power(interpreter.scalar(node.base), interpreter.scalar(node.exponent), hold=True)
        case Call() if node.name == "diff":
            inner, variables = interpreter.scalar(node.arguments[0]), _variables(interpreter, node)
            derivative(builder, inner, variables)  # evaluated by the problem later: check its size
            return builder.checked(sp.Derivative(inner, *variables))
        case Call() if node.name not in SPECIAL_FORMS and node.name not in interpreter.names.unknowns:
            interpreter.value(node)  # for its checks
            return apply(builder, node.name, [interpreter.scalar(a) for a in node.arguments], hold=True)
        case _:
            raise interpreter.error_at(
                node, "a sum, product, power or function in hold(…)", "another expression", "Omit hold(…)."
            )


def _float(interpreter: Interpreter, node: Call) -> Expression:
    """Interpret float(0.1) and float(0.1, bits): a floating-point number, by default of 53 bits."""
    first = node.arguments[0]
    literal = first.part if isinstance(first, Negative) else first
    precision = 53
    if not isinstance(literal, Number):
        raise interpreter.error_at(first, "a number", "an expression", "Write float(0.1).")
    if len(node.arguments) == 2:
        second = node.arguments[1]
        word = second.text if isinstance(second, Number) and second.text.isdecimal() else ""
        if not word or len(word) > 5 or not 1 <= int(word) <= MAX_PRECISION:
            raise interpreter.error_at(
                second, f"a number of bits from 1 to {MAX_PRECISION}", "another value", "Omit it."
            )
        precision = int(word)
    sign = "-" if isinstance(first, Negative) else ""
    return interpreter.builder.checked(sp.Float(sign + str(Decimal(literal.text)), precision=precision))


def _python(interpreter: Interpreter, node: Call) -> Expression:
    """Interpret python(f, x, y): a Python function, passed by name."""
    first = node.arguments[0]
    functions, coordinates = interpreter.names.functions, interpreter.names.coordinates
    name = first.text if isinstance(first, Name) else "an expression"
    if not isinstance(first, Name) or name not in functions:
        raise interpreter.error_at(
            first,
            "a Python function that was passed with the text",
            name,
            did_you_mean(name, functions)
            + f'Text contains no Python code: pass functions={{"{name[:64]}": …}}.',
        )
    arguments = []
    for a in node.arguments[1:]:
        if not isinstance(a, Name) or a.text not in coordinates:
            raise interpreter.error_at(
                a,
                f"a coordinate ({', '.join(coordinates)})",
                "another expression",
                "Write the names of coordinates.",
            )
        arguments.append(coordinates[a.text])
    return known(functions[name], *(arguments or coordinates.values()))


def _cases(interpreter: Interpreter, node: Call) -> Expression:
    """Interpret if(c₁, a₁, …, otherwise) and piecewise(c₁, a₁, …), which has no value elsewhere."""
    otherwise = node.name == "if"
    if len(node.arguments) % 2 != otherwise:
        pattern = "if(condition, value, otherwise)" if otherwise else "piecewise(condition, value, …)"
        raise interpreter.error_at(
            node, pattern, f"{len(node.arguments)} arguments", "Give a value for each condition."
        )
    pairs = node.arguments[: len(node.arguments) - otherwise]
    branches = [
        (interpreter.scalar(value), relation(interpreter, condition))
        for condition, value in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    if otherwise:
        branches.append((interpreter.scalar(node.arguments[-1]), sp.true))
    # Unevaluated: otherwise SymPy would solve the conditions for x.
    return interpreter.builder.checked(sp.Piecewise(*branches, evaluate=False))
