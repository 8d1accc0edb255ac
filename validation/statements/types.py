"""Types of references."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
Reference = Callable[..., Array]
"""Values of one unknown from one array per coordinate."""
References = Mapping[str, Reference]
Lazy = Callable[[], References]
"""References that are computed when they are needed."""
