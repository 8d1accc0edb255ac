"""Memory limits: available memory, rejected demands, and the best solution so far is returned."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import sympy as sp

import pibls
from pibls.adaptive.budget import Budget
from pibls.adaptive.evolutions.strategy import TimeWindowStrategy
from pibls.adaptive.validation.context import ValidationContext
from pibls.linalg.shifted import ShiftedFactorization
from pibls.linalg.tree.engine import LOCAL, MemoryDemand
from pibls.problem.forms.compilation import compile_problem
from pibls.runtime import memory
from pibls.runtime.memory import available_memory, check_memory
from pibls.time.discretizations import CollocationInSpace

x, y, t = sp.symbols("x y t")


def write(path: Path, text: str | int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def test_available_memory_of_the_machine(tmp_path: Path) -> None:
    write(tmp_path / "meminfo", "MemTotal:  900 kB\nMemFree:  100 kB\nMemAvailable:  500 kB")
    assert memory._physical(str(tmp_path / "meminfo")) == 512_000
    assert memory._physical(str(tmp_path / "absent")) > 1e6
    assert 1e6 < available_memory() <= memory._physical()


def test_control_groups(tmp_path: Path) -> None:
    """Version 2: the limits of parent groups apply; inactive file pages can be freed."""
    write(tmp_path / "member", "0::/user/job")
    group = tmp_path / "sys" / "user" / "job"
    write(group / "memory.max", "max")
    write(group / "memory.current", 300)
    root = str(tmp_path / "sys")
    assert memory._control_group(str(tmp_path / "member"), root) == math.inf
    write(group.parent / "memory.max", 1000)
    write(group.parent / "memory.current", 700)
    write(group.parent / "memory.stat", "anon 500\ninactive_file 50")
    assert memory._control_group(str(tmp_path / "member"), root) == 350


@pytest.mark.parametrize("location", ["memory/docker/7", "memory"])
def test_control_groups_of_version_1(tmp_path: Path, location: str) -> None:
    """In a container its own group is the root, whatever its name on the host."""
    write(tmp_path / "member", "9:cpu,cpuacct:/docker/7\n4:memory:/docker/7\n0::/")
    group = tmp_path / "sys" / location
    write(group / "memory.limit_in_bytes", 1000)
    write(group / "memory.usage_in_bytes", 900)
    write(group / "memory.stat", "inactive_file 1\ntotal_inactive_file 20")
    root = str(tmp_path / "sys")
    assert memory._control_group(str(tmp_path / "member"), root) == 120
    write(group / "memory.limit_in_bytes", 9223372036854771712)
    assert memory._control_group(str(tmp_path / "member"), root) == math.inf


def test_too_large_demands_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 1e9)
    check_memory(0.9e9)
    with pytest.raises(MemoryError, match=r"1.5 GB are needed, 1.0 GB are available"):
        check_memory(1.5e9)
    with pytest.raises(MemoryError, match=r"1.2 GB are needed"):
        LOCAL.admit(MemoryDemand(total=10**9, largest_task=2 * 10**8))


LIMITED = """
import resource, sys, warnings
import sympy as sp
import pibls
from pibls.runtime.memory import available_memory

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
square = pibls.Box({x: (0, 1), y: (0, 1)})

def poisson(exact):
    laplace = lambda w: w.diff(x, 2) + w.diff(y, 2)
    return pibls.Problem(square, [sp.Eq(laplace(u), laplace(exact))], [pibls.Dirichlet(u, exact)])

warnings.simplefilter("ignore")
pibls.solve(poisson(sp.sin(x)), tol=1e-3)  # later imports need memory, too
with open("/proc/self/status") as file:
    used = 1024 * next(int(line.split()[1]) for line in file if line.startswith("VmSize:"))
resource.setrlimit(resource.RLIMIT_AS, (used + 30_000_000,) * 2)
assert available_memory() <= 30_000_000
solution = pibls.solve(poisson(sp.tanh(40 * (x + y - 1))), tol=1e-13)
print(solution.status.name, float(solution(0.5, 0.75)), solution.message)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="other systems do not limit the address space"
)
def test_memory_limit_returns_the_best_candidate() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    status, value, message = done.stdout.split(maxsplit=2)
    assert status == "MEMORY_LIMIT"
    assert "needs more memory than this process, or its workers, may use" in message
    assert abs(float(value) - math.tanh(10)) < 1e-2


def test_evolution_is_kept_up_to_the_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    u = sp.Function("u")(x, t)
    problem = pibls.Problem(
        pibls.Interval(x, -1, 1).during(t, 0, 1),
        [sp.Eq(u.diff(t) + u * u.diff(x), u.diff(x, 2) / 50)],
        [pibls.Dirichlet(u, 0), pibls.Initial(u, -sp.sin(sp.pi * x))],
    )
    original, calls = ShiftedFactorization.of.__func__, 0  # type: ignore[attr-defined]

    def of(cls: Any, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 6:
            raise MemoryError
        return original(cls, *arguments)

    monkeypatch.setattr(ShiftedFactorization, "of", classmethod(of))
    context = ValidationContext.of(compile_problem(problem), problem.domain, 0, 1e-8)
    strategy = TimeWindowStrategy(
        context, Budget(time.perf_counter(), None, 200), discretization=CollocationInSpace()
    )
    strategy.advance()
    assert calls == 8, "once more for the companion solution"
    assert strategy.status is pibls.Status.MEMORY_LIMIT
    end, reason = strategy.notes["stopped"]
    assert 0 < end < 1
    assert reason == "there is not enough memory to continue"
    assert strategy.best is not None
    assert strategy.best.relative_residual < 1e-4
