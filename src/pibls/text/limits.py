"""How much a text may ask for. Every limit is far above what an equation of a person needs."""

from __future__ import annotations

MAX_LENGTH = 20_000
"""Characters of one text."""

MAX_NODES = 5_000
"""Names, numbers and operations of one text."""

MAX_DEPTH = 100
"""Parentheses, signs, powers and arguments inside each other."""

MAX_NAME = 64
"""Characters of a name."""

MAX_DIGITS = 400
"""Digits of a number as it is written."""

MAX_DECIMAL_EXPONENT = 400
"""k of a number written as 1ek; floating point ends at 308."""

MAX_BITS = 4096
"""Numerator and denominator together of an exact number, in bits."""

MAX_RADICAL_BITS = 256
"""The same for a number under a root, which SymPy tries to factor."""

MAX_PRECISION = 1024
"""Bits of a number written as float(0.1, bits)."""

MAX_EXPONENT = 1_000
"""|k| of f^k with a constant k, unless f is a number (then MAX_BITS counts)."""

MAX_GROWTH = 10_000.0
"""|f| of c^f with a constant c, where coordinates and unknowns are of the size one."""

MAX_ORDER = 16
"""The order of a derivative."""

MAX_SPECIAL = 100
"""The size of a constant in a special function: gamma(100) has 158 digits."""

MAX_SIZE = 10_000
"""Nodes of the SymPy expression, abbreviations written out."""

MAX_HEIGHT = 60
"""Levels of the SymPy expression, abbreviations written out."""

MAX_TERMS = 5_000
"""Terms of an expression of the unknowns when it is multiplied out, as the search for linear ones does."""

MAX_COMPONENTS = 10
"""Components of a vector, and coordinates of a domain."""

MAX_EFFORT = 60_000
"""Units of work (`effort`) that one text may ask of SymPy: about half a second."""
