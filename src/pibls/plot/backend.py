"""matplotlib, fetched when a picture is asked for and not before."""

from __future__ import annotations

from typing import Any

from pibls.errors import need


def matplotlib(module: str) -> Any:
    """A module of matplotlib, such as "figure"; a clear error where there is none."""
    return need(f"matplotlib.{module}", extra="plot", purpose="A picture")
