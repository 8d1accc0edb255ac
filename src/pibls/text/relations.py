"""Interpretation of relations over the coordinates, such as x = 0 and y < 1."""

from __future__ import annotations

import sympy as sp

from pibls.expressions import Logical
from pibls.text.errors import did_you_mean, quoted
from pibls.text.interpreter import Interpreter
from pibls.text.syntax_tree import Call, Comparison, Logic, Name, Node, Not

_SIGNS = {"=": sp.Eq, "!=": sp.Ne, "<": sp.Lt, "<=": sp.Le, ">": sp.Gt, ">=": sp.Ge}


def relation(interpreter: Interpreter, node: Node) -> Logical:
    """Return the SymPy relation of a node."""
    match node:
        case Comparison():
            sides = [interpreter.scalar(side) for side in node.sides]
            # Unevaluated: SymPy would try to decide the relation, which can take minutes.
            parts = [
                _SIGNS[sign](a, b, evaluate=False)
                for sign, a, b in zip(node.signs, sides, sides[1:], strict=False)
            ]
            return parts[0] if len(parts) == 1 else sp.And(*parts)
        case Logic():
            parts = [relation(interpreter, part) for part in node.parts]
            return sp.And(*parts) if node.word == "and" else sp.Or(*parts)
        case Not():
            return sp.Not(relation(interpreter, node.part))
        case Call(name="inside"):
            return _inside(interpreter, node)
        case Name(text="true" | "false"):
            return sp.true if node.text == "true" else sp.false
        case _:
            word = quoted(node.text) if isinstance(node, Name) else "an expression"
            raise interpreter.error_at(
                node, "a relation such as x = 0 or y > 0.5", word, "Write a comparison."
            )


def _inside(interpreter: Interpreter, node: Call) -> Logical:
    """Interpret inside(name): the relation that holds inside a shape of the file."""
    inside_relations = interpreter.names.inside_relations
    name = node.arguments[0] if len(node.arguments) == 1 else None
    if isinstance(name, Name) and name.text in inside_relations:
        return inside_relations[name.text]
    known = ", ".join(inside_relations) or "none are declared"
    got = quoted(name.text) if isinstance(name, Name) else f"{len(node.arguments)} argument(s)"
    remedy = did_you_mean(name.text, set(inside_relations)) if isinstance(name, Name) else ""
    raise interpreter.error_at(
        node, f"the name of a shape in inside(…) ({known})", got, f"{remedy}Declare it under [shapes]."
    )
