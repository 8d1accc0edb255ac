"""Templates with blanks {{name}}, and formatting of numbers and lists in sentences."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_LARGE = 1e6
"""Value above which a factor is written with an exponent."""
_BLANK = re.compile(r"\{\{\s*([\w-]+)\s*\}\}")
_FREE = re.compile(
    r"""TC-\d+ | PINN\ \#\d | (?:Algorithm|Table|Figure|Definition|Assumption|Lemma|Theorem)\ \d | L2\b
    | [\[(]-1,\ 1[\])] | H[¹²] | P[12]\b | \d[DE]\b | float\d+
    | \[[^\]]*\]\([^)]*\) | `[^`]*` | \$\$.*?\$\$ | \$[^$\n]*\$ | <!--.*?-->""",
    re.VERBOSE | re.DOTALL,
)


def template(name: str) -> str:
    return (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8")


def filled(text: str, values: Mapping[str, str]) -> str:
    """Fill all blanks of a text; raises KeyError for blanks without value and unused values."""
    wanted = set(_BLANK.findall(text))
    if wanted != set(values):
        missing, unused = sorted(wanted - set(values)), sorted(set(values) - wanted)
        raise KeyError(f"blanks without a value: {missing}; values without a blank: {unused}")
    return wrapped(_BLANK.sub(lambda found: values[found[1]], text))


def wrapped(text: str, width: int = 110) -> str:
    """Wrap paragraphs and lists after filling; leave tables, headings, formulas and code unchanged."""
    blocks, fenced = [], False
    for block in text.split("\n\n"):
        keep = fenced or re.match(r"\s*(\||#|```|\$\$|<|!\[)", block) is not None
        fenced ^= block.count("```") % 2 == 1
        blocks.append(block if keep else _rewrap(block, width))
    return "\n\n".join(blocks).rstrip() + "\n"


def _rewrap(block: str, width: int) -> str:
    items = re.split(r"\n(?=- |\d+\. )", block.strip("\n"))
    lines = []
    for item in items:
        inner = "  " if item.startswith("- ") else ""
        lines.append(
            textwrap.fill(
                " ".join(item.split()),
                width,
                subsequent_indent=inner,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return "\n".join(lines)


def typed_numbers(text: str) -> list[str]:
    """Return the numbers in a text outside of blanks, names, code, formulas and links."""
    return re.findall(r"\d[\d.,eE+-]*", _FREE.sub(" ", _BLANK.sub(" ", text)))


def sci(value: float, digits: int = 0) -> str:
    """Return a number in scientific notation: 2e-15."""
    return f"{value:.{digits}e}" if math.isfinite(value) else "no solution"


def plain(value: float, digits: int = 2) -> str:
    """Return a number with two significant digits and no exponent: 0.16, 2.9, 18, 1,900."""
    if value >= 10.0 ** (digits - 1):
        return f"{round(value, digits - 1 - math.floor(math.log10(value))):,.0f}"
    return f"{float(f'{value:.{digits}g}'):g}"


def span(values: Iterable[float], say: str = "plain", digits: int | None = None) -> str:
    """Return a range, "2.9 to 18", or one number if both ends are formatted alike."""
    numbers = sorted(values)

    def formatted(value: float) -> str:
        return sci(value, digits or 0) if say == "sci" else plain(value, digits or 2)

    low, high = formatted(numbers[0]), formatted(numbers[-1])
    return low if low == high else f"{low} to {high}"


def names(cases: Sequence[str], none: str = "none") -> str:
    """Return a list in words: "TC-1, TC-3 and TC-10"."""
    if not cases:
        return none
    *first, last = cases
    return f"{', '.join(first)} and {last}" if first else last


def with_cases(values: Mapping[str, float], say: str = "factor") -> str:
    """Return "2.9× on TC-9 and 6.5× on TC-10", in increasing order."""

    def formatted(value: float) -> str:
        if say == "sci":
            return sci(value)
        return f"{plain(value) if value < _LARGE else sci(value)}×"

    return names([f"{formatted(v)} on {k}" for k, v in sorted(values.items(), key=lambda item: item[1])])


def word(number: int) -> str:
    """Return a small number as word: "three"."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
    return words[number] if number < len(words) else f"{number}"
