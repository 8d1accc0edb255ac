"""Docstrings → API pages: a doctest that follows a section gets the heading that numpydoc wants.

The library's docstrings end with a short example and no heading above it; to numpydoc it would belong to the
section before, and be a warning.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

# The library's own cached property is shown as one, like that of functools.
griffe.stdlib_decorators["pibls.runtime.caching.cached_property"] = {"cached", "property"}

_SECTION = re.compile(r"^\S.*\n-{3,}$", flags=re.MULTILINE)


class DoctestHeading(griffe.Extension):
    """Puts "Examples" above the first doctest of a docstring that has sections."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        docstring = obj.docstring
        if docstring is None or not _SECTION.search(docstring.value):
            return
        before, mark, after = docstring.value.partition("\n\n>>> ")
        if mark:
            docstring.value = f"{before}\n\nExamples\n--------\n>>> {after}"
