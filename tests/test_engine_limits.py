"""solve(problem, engine=client): deadline, interruptions, workers that are busy, gone or not yet there.

The workers are threads of this process. A timer frees a blocked worker after a minute: a solve that waits for
it without a deadline fails by its clock.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.progress_display import _format
from pibls.linalg.tree import distributed
from pibls.linalg.tree.engine import LOCAL, EngineProgress
from pibls.runtime.deadline import OutOfTimeError, check_deadline

dask = pytest.importorskip("distributed", reason="the extra 'engine' (dask, distributed) is not installed")

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
pytestmark = pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning", "ignore:Port")
EVENTS: dict[str, threading.Event] = {}
"""Of the tasks of these tests: an event does not travel, its name does."""
FREED = 60.0
"""Seconds after which a blocked worker is freed."""
SOON = 25.0
"""Seconds within which a solve with a limit of a few ends on any machine."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pibls.solve(peak(), tol=0.1)  # imports are not what is measured
    with dask.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with dask.Client(cluster) as client:
        client.wait_for_workers(1, timeout=60)
        yield client


@pytest.fixture
def busy(client: Any) -> Iterator[threading.Event]:
    """The only worker has a task of somebody else."""
    release, started = events()
    task = client.submit(_block, pure=False)
    timer = threading.Timer(FREED, release.set)
    timer.start()
    assert started.wait(timeout=60)
    yield release
    timer.cancel()
    release.set()
    task.result(timeout=60)


def events() -> tuple[threading.Event, threading.Event]:
    EVENTS.update(release=threading.Event(), started=threading.Event())
    return EVENTS["release"], EVENTS["started"]


def _block() -> None:
    EVENTS["started"].set()
    EVENTS["release"].wait()


@pytest.fixture(autouse=True)
def send_small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "MIN_TASK_OPERATIONS", 1e6)
    monkeypatch.setattr(distributed, "_TASKS_PER_THREAD", 2)


def peak() -> pibls.Problem:
    """Two materials, which only cells resolve, and a narrow source: many attempts."""
    source = sp.exp(-3000 * ((x - sp.Rational(1, 3)) ** 2 + (y - sp.Rational(1, 2)) ** 2))
    k = sp.Piecewise((1, x < sp.Rational(1, 2)), (2, True))
    return pibls.Problem(SQUARE, [pibls.div(k * pibls.grad(u)) - source], [pibls.Dirichlet(u, 0)])


def smooth() -> pibls.Problem:
    exact = sp.sin(3 * x + 2 * y)
    return pibls.Problem(SQUARE, [u.diff(x, 2) + u.diff(y, 2) + 13 * exact], [pibls.Dirichlet(u, exact)])


GIVEN: dict[str, Any] = {
    "basis": pibls.Decomposed((2, 3), pibls.Waves(48, scale=2.0)),
    "method": pibls.GaussNewton(rounds=0),
}


def limited(engine: Any, limit: float, **more: Any) -> tuple[pibls.Solution, float]:
    """The solution within a time limit, and the seconds that it took."""
    began = time.perf_counter()
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(peak(), tol=1e-11, engine=engine, time_limit=limit, **more)
    seconds = time.perf_counter() - began
    assert solution.status is pibls.Status.TIME_LIMIT
    assert np.isfinite(solution(0.3, 0.6))
    return solution, seconds


def test_the_limit_holds_while_workers_work(client: Any) -> None:
    sent: list[EngineProgress] = []
    _, seconds = limited(client, 6.0, callback=lambda now: sent.append(now.share))
    assert seconds < SOON
    assert any(share is not None for share in sent)
    assert client.submit(abs, -1).result(timeout=60) == 1  # the client is the user's, and still connected


def test_the_limit_holds_where_all_workers_are_busy(client: Any, busy: threading.Event) -> None:
    _, seconds = limited(client, 2.0)
    assert seconds < SOON
    assert not busy.is_set()


def test_the_limit_holds_where_the_only_worker_is_gone(cluster: Any, client: Any) -> None:
    """It leaves while tasks are under way; the best so far is returned."""
    gone: list[int] = []

    def leave(now: pibls.Progress) -> None:
        if not gone and now.share is not None:
            gone.append(now.nodes)
            cluster.scale(0)

    timer = threading.Timer(FREED, lambda: cluster.scale(1))
    timer.start()
    try:
        solution, seconds = limited(client, 6.0, callback=leave)
    finally:
        timer.cancel()
        cluster.scale(1)
    assert gone
    assert seconds < SOON
    assert solution.nodes >= gone[0]


def test_a_lost_scheduler_keeps_the_best_so_far() -> None:
    with dask.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
    ) as cluster:
        client = dask.Client(cluster, timeout=2)
        done: list[int] = []

        def close(now: pibls.Progress) -> None:
            if now.share is None:
                done.append(now.nodes)
            elif done and done[-1] > 0 and cluster.status.name == "running":
                cluster.close()

        lost = r"Interrupted.*The engine was lost: engine: expected workers.* got .*create a new client"
        with pytest.warns(pibls.ConvergenceWarning, match=lost):
            solution = pibls.solve(peak(), tol=1e-11, engine=client, callback=close, time_limit=FREED)
        client.close()
    assert solution.status is pibls.Status.INTERRUPTED
    assert solution.nodes == done[-1]


def test_an_interruption_ends_the_wait(client: Any, busy: threading.Event) -> None:
    """Control returns at once, although no worker answers."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(4.0, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            pibls.solve(smooth(), engine=client, **GIVEN)
        seconds = time.perf_counter() - sent[0]
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert seconds < 5.0
    assert not busy.is_set()


def test_a_cancelled_task_stops(client: Any) -> None:
    """A worker does not go on with what nobody waits for."""
    ended, started = events()
    engine = distributed.Distributed(client)
    handle = engine.call(_endless)
    assert started.wait(timeout=30)
    engine._cancel()
    assert ended.wait(timeout=20)
    del handle


def _endless() -> None:
    began = time.monotonic()
    EVENTS["started"].set()
    try:
        while time.monotonic() - began < FREED:
            check_deadline()
            time.sleep(0.01)
    finally:
        EVENTS["release"].set()


def test_dropped_handles_do_not_cut_off_the_client(client: Any) -> None:
    """Tasks whose handles were dropped depend on tasks that are cancelled.

    client.cancel makes the scheduler close the connection there, and every task of the user is lost.
    """
    engine, mine = distributed.Distributed(client), client.submit(abs, -3)
    release, _ = events()
    first = engine.call(_block)
    middle = engine.call(_first, first)
    last = engine.call(_first, middle)
    del middle
    engine.deadline = time.perf_counter() + 0.2
    try:
        with pytest.raises(OutOfTimeError):
            engine.get([last])
    finally:
        release.set()
    assert mine.result(timeout=30) == 3
    assert client.status == "running"


def _first(value: Any) -> Any:
    return value


def test_an_adaptive_cluster_without_workers_is_waited_for() -> None:
    shares: list[EngineProgress] = []

    def note(now: pibls.Progress) -> None:
        if now.share is not None:
            shares.append(now.share)
            assert _format(now).endswith("waiting for workers") == (now.share.workers == 0)

    with (
        dask.LocalCluster(
            n_workers=0, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        dask.Client(cluster) as client,
    ):
        cluster.adapt(minimum=0, maximum=2, interval="50ms")
        elsewhere = pibls.solve(smooth(), engine=client, callback=note, **GIVEN)
    assert shares[0].workers == 0
    assert shares[-1].workers > 0
    assert elsewhere(0.3, 0.6) == pibls.solve(smooth(), **GIVEN)(0.3, 0.6)


def test_no_worker_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused after a while; with a time limit, the solve ends there as it always does."""
    with (
        dask.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        dask.Client(cluster) as client,
    ):
        began = time.perf_counter()
        with pytest.warns(pibls.ConvergenceWarning):
            solution = pibls.solve(smooth(), engine=client, time_limit=1.5, **GIVEN)
        assert solution.status is pibls.Status.TIME_LIMIT
        assert time.perf_counter() - began < SOON
        monkeypatch.setattr(distributed, "_WORKER_TIMEOUT", 1.0)
        with pytest.raises(
            pibls.ProblemError, match=r"engine: expected workers.*got no worker within 1 s.*wait_for_workers"
        ):
            pibls.solve(smooth(), engine=client, **GIVEN)
        assert client.status == "running"


def test_a_given_basis_reports_its_share_and_its_error_needs_no_client(cluster: Any) -> None:
    told: list[pibls.Progress] = []
    with dask.Client(cluster) as client:
        client.wait_for_workers(1, timeout=60)
        elsewhere = pibls.solve(smooth(), engine=client, callback=told.append, **GIVEN)
    shares = [now.share for now in told if now.share is not None]
    assert shares
    assert shares[0].workers == 1
    assert shares[0].needed_bytes > 0
    assert elsewhere.error.max == pibls.solve(smooth(), **GIVEN).error.max


def test_small_problems_ask_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are solved in this process, whatever the workers do."""
    monkeypatch.setattr(distributed, "MIN_TASK_OPERATIONS", 1e12)

    class Silent:
        status, asynchronous = "running", False

        def scheduler_info(self, n_workers: int = 5) -> Any:
            raise AssertionError("nothing may be asked")

        submit = gather = scheduler_info

    found = pibls.solve(smooth(), engine=Silent(), **GIVEN)
    assert found(0.3, 0.6) == pibls.solve(smooth(), **GIVEN)(0.3, 0.6)
    assert distributed.Distributed(Silent()).available is not LOCAL
