"""Templates of problem files for ``pibls new poisson > problem.toml``."""

from __future__ import annotations

from importlib import resources

from pibls.errors import ProblemError
from pibls.text import did_you_mean


def kinds() -> tuple[str, ...]:
    """Return the names of the templates.

    >>> "poisson" in kinds()
    True
    """
    files = (entry.name for entry in resources.files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def template(kind: str) -> str:
    """Return the commented problem file of this kind.

    >>> template("heat").splitlines()[0]
    '# Heat equation in a rod: u_t = a u_xx.'
    """
    if kind not in kinds():
        raise ProblemError(
            "kind",
            expected=f"one of {', '.join(kinds())}",
            got=repr(kind)[:80],
            remedy=f"{did_you_mean(str(kind), kinds())}Run pibls new for the list.",
        )
    return resources.files(__name__).joinpath(f"{kind}.toml").read_text(encoding="utf-8")


def summary(kind: str) -> str:
    """Return the description of a template, the first comment of its file.

    >>> summary("wave")
    'Wave equation, a vibrating string: u_tt = c^2 u_xx.'
    """
    return template(kind).partition("\n")[0].removeprefix("#").strip()
