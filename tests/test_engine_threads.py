"""solve(problem, engine=Client(processes=False)): worker threads of this process, and several solves at once.

Each script runs in its own process with a time limit, so that a deadlock is a failure.
"""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import pibls
from pibls.linalg.threads import _controller, limit_blas_threads
from pibls.runtime.caching import cached_property

pytest.importorskip("distributed", reason="the extra 'engine' (dask, distributed) is not installed")

LOCKED = re.compile(r"^from functools import .*cached_property|functools\.cached_property$", re.MULTILINE)
SETUP = """
import threading, warnings
import numpy as np, sympy as sp
import pibls
from distributed import Client
from pibls.linalg.tree import distributed

warnings.simplefilter("ignore", pibls.ConvergenceWarning)
distributed.MIN_TASK_OPERATIONS, distributed._TASKS_PER_THREAD = 1e6, 1  # send tasks of a small problem, too
x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
square = pibls.Box({x: (0, 1), y: (0, 1)})
exact = sp.sin(3 * x + 2 * y) * sp.exp(x * y)
laplace = exact.diff(x, 2) + exact.diff(y, 2)

def problem(power):
    equation = sp.Eq(u.diff(x, 2) + u.diff(y, 2) - u**power / 10, laplace - exact**power / 10)
    return pibls.Problem(square, [equation], [pibls.Dirichlet(u, exact)])

def solved(power, engine, seed=0):
    basis = pibls.Decomposed((2, 3), pibls.Waves(48, scale=2.0))
    method = pibls.GaussNewton(max_steps=4, continuation=0, rounds=0)
    return pibls.solve(problem(power), basis=basis, method=method, seed=seed, engine=engine)(0.3, 0.7)

client = Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None)
"""

ONE_SOLVE = """
for power in (1, 2):
    found = solved(power, client)
    assert found == solved(power, None), power
    assert abs(found - float(exact.subs({x: 0.3, y: 0.7}))) < 1e-3
"""

SEVERAL_SOLVES = """
cases = [(1, 0), (1, 1), (2, 2)]
found = {}
threads = [threading.Thread(target=lambda c=c: found.update({c: solved(c[0], client, c[1])})) for c in cases]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert found == {c: solved(c[0], None, c[1]) for c in cases}
"""


@pytest.mark.parametrize("script", [ONE_SOLVE, SEVERAL_SOLVES], ids=["one_solve", "several_solves_at_once"])
def test_worker_threads_in_the_same_process(script: str) -> None:
    """Linear and nonlinear. With functools.cached_property of Python 3.11 these solves deadlock."""
    source = SETUP + script + "\nclient.close()\nprint('done')\n"
    completed = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=240, check=False
    )
    assert completed.stdout.strip() == "done", completed.stderr[-2000:]


@dataclass(frozen=True)
class Circle:
    radius: float

    @cached_property
    def area(self) -> float:
        """π r²."""
        return float(np.pi * self.radius**2)


def test_cached_property_holds_no_lock() -> None:
    """A property that waits for another object of its class does not block that object."""

    class Waiting:
        def __init__(self, other: threading.Event, mine: threading.Event) -> None:
            self.other, self.mine = other, mine

        @cached_property
        def value(self) -> bool:
            self.mine.set()
            return self.other.wait(timeout=20)

    a, b = threading.Event(), threading.Event()
    first, second = Waiting(a, b), Waiting(b, a)
    thread = threading.Thread(target=lambda: second.value)
    thread.start()
    assert first.value
    thread.join()
    assert second.value


def test_cached_property_is_computed_once_and_copied() -> None:
    circle = Circle(2.0)
    assert vars(circle) == {"radius": 2.0}
    area = circle.area
    assert circle.area is area
    for other in (copy.copy(circle), copy.deepcopy(circle), pickle.loads(pickle.dumps(circle))):
        assert vars(other) == {"radius": 2.0, "area": area}
    assert Circle.area.__doc__ == "π r²."


def test_concurrent_reads_of_cached_property_share_one_value() -> None:
    both = threading.Barrier(2, timeout=20)

    class Slow:
        @cached_property
        def value(self) -> object:
            both.wait()  # each of the two threads computes its own value
            return object()

    slow = Slow()
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(slow.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert found[0] is found[1] is slow.value


def test_blas_limit_lasts_until_the_last_context_exits() -> None:
    """The number of BLAS threads belongs to the process: the last context restores it."""
    libraries = [c for c in _controller().lib_controllers if c.user_api == "blas"]
    before = [c.num_threads for c in libraries]
    with _controller().limit(limits=2, user_api="blas"):
        allowed = [c.num_threads for c in libraries]
        outer, inner = limit_blas_threads(1), limit_blas_threads(1)
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        within = [c.num_threads for c in libraries]
        inner.__exit__(None, None, None)
        after = [c.num_threads for c in libraries]
    assert within == [1] * len(libraries)
    assert after == allowed
    assert [c.num_threads for c in libraries] == before


def test_no_module_uses_a_cached_property_with_a_lock() -> None:
    root = Path(pibls.__file__).parent
    locked = [
        p.name for p in root.rglob("*.py") if p.name != "caching.py" and LOCKED.search(p.read_text("utf-8"))
    ]
    assert not locked
