"""The parsed text, before it means anything: what stands where, and how it is grouped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Number:
    """12, 0.5, 1e-3, as written."""

    text: str
    at: int


@dataclass(frozen=True)
class Name:
    """x, u_xx, k."""

    text: str
    at: int


@dataclass(frozen=True)
class Call:
    """name(arguments)."""

    name: str
    arguments: tuple[Node, ...]
    at: int


@dataclass(frozen=True)
class Negative:
    """-part."""

    part: Node
    at: int


@dataclass(frozen=True)
class Sum:
    """a + b - c: the terms, and whether each is subtracted."""

    terms: tuple[Node, ...]
    minus: tuple[bool, ...]
    at: int


@dataclass(frozen=True)
class Product:
    """a * b / c: the factors, and whether each divides."""

    factors: tuple[Node, ...]
    divides: tuple[bool, ...]
    at: int


@dataclass(frozen=True)
class Power:
    """base ^ exponent."""

    base: Node
    exponent: Node
    at: int


@dataclass(frozen=True)
class Vector:
    """[a, b]."""

    parts: tuple[Node, ...]
    at: int


@dataclass(frozen=True)
class Comparison:
    """a = b, or a < b <= c: one sign fewer than sides."""

    sides: tuple[Node, ...]
    signs: tuple[str, ...]
    at: int


@dataclass(frozen=True)
class Logic:
    """parts joined by "and" or "or"."""

    word: str
    parts: tuple[Node, ...]
    at: int


@dataclass(frozen=True)
class Not:
    """not part."""

    part: Node
    at: int


Node: TypeAlias = Number | Name | Call | Negative | Sum | Product | Power | Vector | Comparison | Logic | Not
