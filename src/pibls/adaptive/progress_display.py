"""Progress line on the terminal for solve(progress=True)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pibls.adaptive.budget import Progress
from pibls.errors import ProblemError


@contextmanager
def progress_line(callback: Callable[[Progress], object] | None) -> Iterator[Callable[[Progress], object]]:
    """Context with a callback that updates a line on the terminal and calls ``callback``."""
    try:
        from rich.console import Console
    except ImportError:
        raise ProblemError(
            "progress",
            expected="the package rich",
            got="no such package installed",
            remedy="Install it with: pip install 'pibls[progress]'; or leave progress out.",
        ) from None
    console = Console(stderr=True)
    with console.status("solving …") as line:

        def both(now: Progress) -> None:
            line.update(_format(now))
            if callback is not None:
                callback(now)

        yield both


def _format(now: Progress) -> str:
    parts = [f"{now.nodes} nodes"]
    if now.t is not None:
        parts = [f"t = {now.t:.6g}", f"window {now.windows}", f"{now.cells} cell{'s' * (now.cells != 1)}"]
    elif now.cells > 1:
        parts.append(f"{now.cells} cells")
    if now.residual > 0:
        parts.append(f"residual {now.residual:.1e}")
    if now.error is not None:
        parts.append(f"estimated error {now.error:.1e}")
    parts.append(f"{now.seconds:.1f} s")
    if now.expected is not None:
        parts.append(f"the next refinement takes about {now.expected:.0f} s")
    if now.share is not None and not now.share.workers:
        parts.append("waiting for workers")
    elif now.share is not None:
        share = now.share
        parts.append(
            f"{share.workers} worker{'s' * (share.workers != 1)} of up to "
            f"{share.needed_bytes / 2**30:.2g} GiB"
        )
        if share.tasks:
            parts.append(f"{share.done} of {share.tasks} tasks")
    return ", ".join(parts)
