"""Starting points for new problem files: ``pibls new poisson > problem.toml``."""

from __future__ import annotations

from importlib import resources

from pibls.errors import ProblemError
from pibls.text import nearest


def kinds() -> tuple[str, ...]:
    """The kinds of problems there is a starting point for.

    >>> "poisson" in kinds()
    True
    """
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def template(kind: str) -> str:
    """The commented text of a problem file of this kind.

    >>> template("heat").splitlines()[0]
    '# Heat conduction in a rod: u_t = a u_xx.'
    """
    if kind not in kinds():
        raise ProblemError(
            "kind",
            expected=f"one of {', '.join(kinds())}",
            got=repr(kind)[:80],
            remedy=f"{nearest(str(kind), kinds())}Each is a commented file to begin with.",
        )
    return resources.files(__name__).joinpath(f"{kind}.toml").read_text(encoding="utf-8")


def summary(kind: str) -> str:
    """One line about a kind: the first comment of its file.

    >>> summary("wave")
    'A vibrating string: u_tt = c^2 u_xx.'
    """
    return template(kind).partition("\n")[0].removeprefix("#").strip()
