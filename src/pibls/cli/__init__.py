"""The command `pibls`: problems from files, without a line of Python."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command; say what to install where its packages are absent."""
    try:
        from pibls.cli.app import app
        from pibls.cli.outcome import heard
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.stderr.write(f"The command needs {missing.name}: pip install 'pibls[cli]'\n")
        raise SystemExit(2) from None
    with heard():
        app()
