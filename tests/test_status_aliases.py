"""Statuses renamed after 0.2: the old names work with a warning, and saved files load without one."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sympy as sp

import pibls
from pibls.io import solution_file
from pibls.io.container import write_container
from pibls.status import Status, current_name

RENAMED = {
    "FLOOR": "ROUNDING_LIMIT",
    "ROUGH": "INCOMPATIBLE_DATA",
    "SLOW": "SLOW_CONVERGENCE",
    "STOPPED": "INCOMPLETE",
}
MEMBERS = [
    "TOLERANCE",
    "SOLVED",
    "ROUNDING_LIMIT",
    "NODE_LIMIT",
    "SLOW_CONVERGENCE",
    "TIME_LIMIT",
    "MEMORY_LIMIT",
    "INCOMPATIBLE_DATA",
    "INCOMPLETE",
    "DISCONTINUOUS_DATA",
    "INTERRUPTED",
    "UNRESOLVED",
    "UNDETERMINED",
    "UNSTABLE",
    "NO_SOLUTION",
    "STALLED",
    "STEP_LIMIT",
]
untyped_status: Any = Status  # a type checker rejects the old names


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_old_attribute_gives_the_new_member_with_a_warning(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"Status\.{old} was renamed to Status\.{new}") as caught:
        member = getattr(untyped_status, old)
    assert member is Status[new]
    assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_old_key_gives_the_new_member_with_a_warning(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"renamed to Status\.{new}") as caught:
        member = Status[old]
    assert member is getattr(Status, new)
    assert [w.filename for w in caught] == [__file__]


def test_members_are_the_new_names() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [status.name for status in Status] == MEMBERS == list(Status.__members__)
        assert len({status.value for status in Status}) == len(MEMBERS)
        assert all(Status(status.value) is status and Status[status.name] is status for status in Status)
        assert not set(RENAMED) & set(dir(Status))


def test_unknown_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="TOLERENCE"):
        untyped_status.TOLERENCE  # noqa: B018
    with pytest.raises(KeyError, match="TOLERENCE"):
        Status["TOLERENCE"]


@pytest.mark.parametrize("status", Status, ids=lambda status: status.name)
def test_pickled_status_is_the_same_member(status: Status) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pickle.loads(pickle.dumps(status)) is status


def test_current_name() -> None:
    assert {old: current_name(old) for old in RENAMED} == RENAMED
    assert [current_name(name) for name in MEMBERS] == MEMBERS


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_file_of_version_0_2_loads_without_a_warning(
    old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A header with the old name, written as 0.2 wrote it."""
    x = sp.Symbol("x")
    u = sp.Function("u")(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [u.diff(x, 2) + 1], [pibls.Dirichlet(u, 0)])
    solution = replace(pibls.solve(problem, tol=1e-6), status=Status[new])

    def with_old_name(file: Any, header: dict[str, Any], *args: Any) -> None:
        assert header["status"] == new
        write_container(file, {**header, "status": old}, *args)

    monkeypatch.setattr(solution_file, "write_container", with_old_name)
    solution.save(tmp_path / "u.pibls")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pibls.load(tmp_path / "u.pibls").status is Status[new]
