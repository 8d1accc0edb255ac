"""The command-line program `pibls`, which solves problem files."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; if one of its packages is missing, print how to install it."""
    try:
        from pibls.cli.app import app
        from pibls.cli.exits import handle_signals
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.stderr.write(
            f"The pibls command needs the package {missing.name}. Install it with: pip install 'pibls[cli]'\n"
        )
        raise SystemExit(2) from None
    with handle_signals():
        app()
