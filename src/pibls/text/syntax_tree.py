"""Nodes of the syntax tree of a text; ``at`` is the offset of a node in the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Number:
    """A number literal: 12, 0.5, 1e-3."""

    text: str
    at: int


@dataclass(frozen=True)
class Name:
    """A name: x, u_xx, k."""

    text: str
    at: int


@dataclass(frozen=True)
class Call:
    """A function call: name(arguments)."""

    name: str
    arguments: tuple[Node, ...]
    at: int


@dataclass(frozen=True)
class Negative:
    """A negation: -part."""

    part: Node
    at: int


@dataclass(frozen=True)
class Sum:
    """A sum a + b - c: the terms, and whether each is subtracted."""

    terms: tuple[Node, ...]
    minus: tuple[bool, ...]
    at: int


@dataclass(frozen=True)
class Product:
    """A product a * b / c: the factors, and whether each is a divisor."""

    factors: tuple[Node, ...]
    divides: tuple[bool, ...]
    at: int


@dataclass(frozen=True)
class Power:
    """A power: base ^ exponent."""

    base: Node
    exponent: Node
    at: int


@dataclass(frozen=True)
class Vector:
    """A vector: [a, b]."""

    parts: tuple[Node, ...]
    at: int


@dataclass(frozen=True)
class Comparison:
    """A comparison a = b or a < b <= c, with one sign fewer than sides."""

    sides: tuple[Node, ...]
    signs: tuple[str, ...]
    at: int


@dataclass(frozen=True)
class Logic:
    """Relations joined by "and" or "or"."""

    word: str
    parts: tuple[Node, ...]
    at: int


@dataclass(frozen=True)
class Not:
    """A negated relation: not part."""

    part: Node
    at: int


Node: TypeAlias = Number | Name | Call | Negative | Sum | Product | Power | Vector | Comparison | Logic | Not
