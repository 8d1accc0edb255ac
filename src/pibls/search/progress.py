"""A progress line for people; the library itself never prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pibls.errors import ProblemError
from pibls.search.loop import Progress


@contextmanager
def shown(callback: Callable[[Progress], object] | None) -> Iterator[Callable[[Progress], object]]:
    """A callback that updates a line on the terminal and passes on to ``callback``."""
    try:
        from rich.console import Console
    except ImportError:
        raise ProblemError(
            "progress",
            expected="the package rich",
            got="no such package",
            remedy="Install it with: pip install 'pibls[progress]'; or leave progress out.",
        ) from None
    console = Console(stderr=True)
    with console.status("solving …") as line:

        def both(now: Progress) -> None:
            error = "" if now.error is None else f", estimated error {now.error:.1e}"
            line.update(f"{now.nodes} nodes, residual {now.residual:.1e}{error}, {now.seconds:.1f} s")
            if callback is not None:
                callback(now)

        yield both
