r"""\frac{a}{b} in a page → MathML, which browsers set by themselves.

No script, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)

_BAR = re.compile(r"<mo[^>]*>(&#x0007C;|&#x02016;)</mo>")


def on_page_content(html: str, **_: Any) -> str:
    """Called by MkDocs for each page: the formulas that arithmatex has marked."""
    return _FORMULA.sub(_mathml, html)


def _mathml(found: re.Match[str]) -> str:
    from latex2mathml.converter import convert

    display = "block" if found[1] == "div" else "inline"
    mathml = convert(unescape(found[2]).strip(), display=display)
    # A bar stands close to what it encloses; left to itself it is set like a relation.
    return _BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', mathml)
