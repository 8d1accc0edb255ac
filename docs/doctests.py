"""Extension of mkdocstrings: put the heading "Examples" above the doctest of a docstring.

The docstrings of the library end with a short example without a heading. Without the heading, an example is
rendered as a quotation (>>>), or as a part of the section before it.
"""

from __future__ import annotations

from typing import Any

import griffe

# The library's own cached property is shown as one, like that of functools.
griffe.stdlib_decorators["pibls.runtime.caching.cached_property"] = {"cached", "property"}


class DoctestHeading(griffe.Extension):
    """Put "Examples" above the first doctest of a docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        docstring = obj.docstring
        if docstring is None or "\nExamples\n---" in docstring.value:
            return
        before, mark, after = docstring.value.partition("\n\n>>> ")
        if mark:
            docstring.value = f"{before}\n\nExamples\n--------\n>>> {after}"
