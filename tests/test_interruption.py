"""Signals while a solve runs: none is lost, and the handlers are the same afterwards."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sympy as sp

import pibls
from pibls.runtime.interruption import keep_interrupts, raise_pending_interrupt

x, y = sp.symbols("x y")


@pytest.fixture(autouse=True)
def _usual_handler() -> Iterator[None]:
    """A shell's background job ignores SIGINT: these tests do not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def dropped(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What Python drops in finalizers."""
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    return seen


class Interrupting:
    """An object whose finalizer is interrupted."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def layer() -> pibls.Problem:
    """A steep layer, which takes many attempts."""
    u = sp.Function("u")(x, y)
    exact = sp.tanh(20 * (x + y - 1))
    equation = sp.Eq(u.diff(x, 2) + u.diff(y, 2), exact.diff(x, 2) + exact.diff(y, 2))
    return pibls.Problem(pibls.Box({x: (0, 1), y: (0, 1)}), [equation], [pibls.Dirichlet(u, exact)])


def interrupted(act: Callable[[], object], *, after: int = 2) -> tuple[pibls.Solution, int]:
    """A solve in whose callback something is done, and how often that was called after it."""
    calls = 0

    def callback(_: pibls.Progress) -> None:
        nonlocal calls
        calls += 1
        if calls == after:
            act()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        solution = pibls.solve(layer(), tol=1e-13, callback=callback)
    return solution, calls - after


def test_an_interruption_that_a_finalizer_drops_ends_the_solve(dropped: list[Any]) -> None:
    solution, later = interrupted(lambda: type(Interrupting()))
    assert [type(e.exc_value) for e in dropped] == [KeyboardInterrupt]
    assert solution.status is pibls.Status.INTERRUPTED
    assert later == 0, "the next check raises it, before another attempt has ended"


def test_a_handler_that_does_not_raise_interrupts_nothing() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        solution, later = interrupted(lambda: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert seen == [signal.SIGINT]
    assert later > 0
    assert solution.status is not pibls.Status.INTERRUPTED


def test_an_exception_of_ones_own_handler_is_raised(dropped: list[Any]) -> None:
    class OwnError(Exception):
        pass

    def raising(*_: Any) -> None:
        raise OwnError

    signal.signal(signal.SIGINT, raising)
    try:
        with pytest.raises(OwnError):
            interrupted(lambda: type(Interrupting()))
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert len(dropped) == 1


def test_a_handler_that_was_set_meanwhile_stays() -> None:
    def other(*_: Any) -> None:
        pass

    with keep_interrupts():
        signal.signal(signal.SIGINT, other)
    assert signal.getsignal(signal.SIGINT) is other
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_what_is_not_handled_by_python_is_left_alone(handler: Any) -> None:
    signal.signal(signal.SIGINT, handler)
    try:
        with keep_interrupts():
            assert signal.getsignal(signal.SIGINT) == handler
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_contexts_inside_each_other(dropped: list[Any]) -> None:
    with pytest.raises(KeyboardInterrupt), keep_interrupts():  # noqa: PT012 - the inner one ends first
        mine = signal.getsignal(signal.SIGINT)
        with keep_interrupts():
            assert signal.getsignal(signal.SIGINT) is mine
            Interrupting()
        assert signal.getsignal(signal.SIGINT) is mine
        raise_pending_interrupt()
    raise_pending_interrupt()  # nothing is left after the outermost


def test_other_threads_go_on(dropped: list[Any]) -> None:
    raised: list[BaseException] = []

    def elsewhere() -> None:
        try:
            with keep_interrupts():
                raise_pending_interrupt()
        except BaseException as problem:
            raised.append(problem)

    with keep_interrupts():
        Interrupting()
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert len(dropped) == 1
    assert not raised
