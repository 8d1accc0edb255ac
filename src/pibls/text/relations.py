"""x = 0, y > ½, x = 0 and y < 1: comparisons over the coordinates, as SymPy relations."""

from __future__ import annotations

from typing import Any

import sympy as sp

from pibls.text.meaning import Meaning
from pibls.text.pointing import nearest, short
from pibls.text.tree import Call, Comparison, Logic, Name, Node, Not

_SIGNS = {"=": sp.Eq, "!=": sp.Ne, "<": sp.Lt, "<=": sp.Le, ">": sp.Gt, ">=": sp.Ge}


def relation(reader: Meaning, node: Node) -> Any:
    """The relation that a node states."""
    match node:
        case Comparison():
            sides = [reader.scalar(side) for side in node.sides]
            # As written: SymPy would try to decide the relation, for minutes if need be.
            parts = [
                _SIGNS[sign](a, b, evaluate=False)
                for sign, a, b in zip(node.signs, sides, sides[1:], strict=False)
            ]
            return parts[0] if len(parts) == 1 else sp.And(*parts)
        case Logic():
            parts = [relation(reader, part) for part in node.parts]
            return sp.And(*parts) if node.word == "and" else sp.Or(*parts)
        case Not():
            return sp.Not(relation(reader, node.part))
        case Call(name="inside"):
            return _inside(reader, node)
        case Name(text="true" | "false"):
            return sp.true if node.text == "true" else sp.false
        case _:
            word = short(node.text) if isinstance(node, Name) else "an expression"
            raise reader.refusal(
                node, "a relation such as x = 0 or y > 0.5", word, "Compare it with something."
            )


def _inside(reader: Meaning, node: Call) -> Any:
    """inside(name): in one of the shapes of the file."""
    places = reader.names.places
    name = node.arguments[0] if len(node.arguments) == 1 else None
    if isinstance(name, Name) and name.text in places:
        return places[name.text]
    known = ", ".join(places) or "none are declared"
    got = short(name.text) if isinstance(name, Name) else f"{len(node.arguments)} argument(s)"
    remedy = nearest(name.text, set(places)) if isinstance(name, Name) else ""
    raise reader.refusal(
        node, f"the name of a shape in inside(…) ({known})", got, f"{remedy}Declare it under [shapes]."
    )
