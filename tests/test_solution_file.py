"""Solutions on disk: read back bit for bit; damaged and foreign files are refused, and never executed."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import pickle
import random
import stat
import struct
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.activation import ACTIVATIONS, Sine, Tanh
from pibls.arrays import Array, MultiIndex
from pibls.basis import Decomposed, FeatureBasis, WaveBasis
from pibls.basis.layer import Layer
from pibls.io.container import MAX_FILE, MAX_HEADER, SIGNATURE, VERSION
from tests import solved
from tests.solved import t, x, y

START = struct.Struct("<8sIQ")
u, v = sp.Function("u"), sp.Function("v")


def quickly(problem: pibls.Problem, basis: Any, **settings: Any) -> pibls.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        return pibls.solve(problem, basis=basis, **settings)


@lru_cache
def small() -> pibls.Solution:
    """A file of little more than a kilobyte."""
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [u(x).diff(x) - u(x)], [pibls.Initial(u(x), 1)])
    return quickly(problem, pibls.Waves(4, scale=1.0))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path: Path = small().save(tmp_path / "small.pibls")
    return path


def equal(a: Any, b: Any) -> bool:
    """Bit for bit, NaN included."""
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def check_same(
    loaded: pibls.Solution, solution: pibls.Solution, expressions: Sequence[Any] | None = None
) -> None:
    """Everything that a solution can be asked for."""
    assert loaded.problem == solution.problem
    assert equal(loaded.weights, solution.weights)
    assert loaded.summary() == solution.summary()
    assert loaded.message == solution.message
    for name in ("status", "residuals", "seconds", "seed", "tol", "steps", "history", "error", "nodes"):
        assert getattr(loaded, name) == getattr(solution, name), name
    low, high = np.array(solution.problem.domain.bounds, dtype=float).T
    rng = np.random.default_rng(5)
    unknowns = solution.problem.unknowns
    if expressions is None:
        c, last = solution.problem.coordinates[0], solution.problem.coordinates[-1]
        expressions = [e for w in unknowns for e in (w, w.diff(c), w.diff(c, 2), w.diff(c, last) * w + c)]
    for n in (1, 7, 600):  # products round differently for few and for many points
        X = rng.uniform(low - 0.1, high + 0.1, (n, len(low))).T
        for e in expressions:
            assert equal(loaded.evaluate(e, *X), solution.evaluate(e, *X)), (e, n)


def back(solution: pibls.Solution, tmp_path: Path, **options: Any) -> pibls.Solution:
    return pibls.load(solution.save(tmp_path / "there.pibls"), **options)


# --- round trips ----------------------------------------------------------------------------------

BASES = {
    "waves": pibls.Waves(40, scale=2.0),
    "waves in groups": pibls.Waves(41, scale=(2.0, 3.0), groups=(((0,), 6, 2.0), ((1,), 5, 1.0))),
    "broad": pibls.Broad(5, 5, 2, 6, scale=1.5, whiten=True, sparse=True),
    "broad without enhancement": pibls.Broad(5, 5, scale=1.5),
    "broad with two activations": pibls.Broad(
        4, 5, 2, 6, scale=1.5, activation="sin", enhancement_activation="gaussian"
    ),
    "ridges": pibls.Ridges(30, 4.0, ((0.5, 0.5), (1.5, 0.2))),
    "joined": pibls.Joined((pibls.Waves(20, scale=2.0), pibls.Ridges(10, 5.0, ((0.5, 0.5),)))),
    "joined twice": pibls.Joined(
        (
            pibls.Joined((pibls.Waves(8, scale=1.0), pibls.Features(8, scale=1.0))),
            pibls.Broad(2, 3, scale=1.0),
        )
    ),
    "decomposed": Decomposed((3, 2), pibls.Features(20, scale=2.0, activation="tanh")),
    "decomposed waves": Decomposed((1, 2), pibls.Joined((pibls.Waves(10, scale=2.0),)), interface=5),
    **{f"features of {name}": pibls.Features(30, scale=2.0, activation=name) for name in ACTIVATIONS},
}


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_every_basis(basis: Any, tmp_path: Path) -> None:
    a, b = sp.symbols("x y")
    w = u(a, b)
    problem = pibls.Problem(
        pibls.Box({a: (0, 2), b: (0, 1)}),
        [sp.Eq(w.diff(a, 2) + w.diff(b, 2), sp.sin(a) * b)],
        [pibls.Dirichlet(w, a * b)],
    )
    solution = quickly(problem, basis, points=pibls.Points(60, 40), seed=3)
    loaded = back(solution, tmp_path)
    check_same(loaded, solution)
    assert loaded.settings == solution.settings
    assert type(loaded.basis) is type(solution.basis)


def heat() -> pibls.Problem:
    w = u(x, t)
    return pibls.Problem(
        pibls.Interval(x, 0, sp.pi).during(t, 0, 0.3),
        [sp.Eq(w.diff(t), w.diff(x, 2))],
        [pibls.Initial(w, sp.sin(x)), pibls.Dirichlet(w, 0)],
    )


def burgers() -> pibls.Problem:
    w = u(x, t)
    nu = sp.Rational(1, 5)
    return pibls.Problem(
        pibls.Interval(x, 0, 2).during(t, 0, 0.5),
        [sp.Eq(w.diff(t) + w * w.diff(x), nu * w.diff(x, 2))],
        [pibls.Initial(w, sp.sin(sp.pi * x)), pibls.Periodic(w, x)],
    )


def system() -> pibls.Problem:
    p, q = u(t), v(t)
    return pibls.Problem(
        pibls.Interval(t, 0, 1),
        [sp.Eq(p.diff(t), q), sp.Eq(q.diff(t), -sp.sin(p))],
        [pibls.Initial(p, 0.7), pibls.Initial(q, 0)],
    )


def robin() -> pibls.Problem:
    w = u(x, y)
    return pibls.Problem(
        pibls.Box({x: (-1, 1 / 3), y: (0.1, 1e-3 + 1)}),
        [w.diff(x, 2) + w.diff(y, 2) - 0.1 * w],
        [
            pibls.Robin(w, y, 1, sp.Rational(1, 3), on=sp.Eq(x, -1)),
            pibls.Neumann(w, 0, on=sp.Eq(y, 0.1)),
            pibls.Dirichlet(w, sp.exp(-y)),
        ],
    )


def named() -> pibls.Problem:
    """Names and assumptions that stand apart in a problem's text."""
    theta, r = sp.Symbol("θ", real=True), sp.Symbol("r_{0}", positive=True)
    w = sp.Function("φ", real=True)(theta, r)
    return pibls.Problem(
        pibls.Box({theta: (0, 2 * sp.pi), r: (1, 2)}),
        [sp.Eq(w.diff(r, 2) + w.diff(theta, 2) / r**2, 0)],
        [pibls.Periodic(w, theta), pibls.Dirichlet(w, sp.cos(theta))],
    )


def plate() -> pibls.Problem:
    w = u(x, y, t)
    return pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, 1),
        [w.diff(t) - w.diff(x, 2) - w.diff(y, 2)],
        [pibls.Initial(w, x * y), pibls.Condition(w.diff(x) - w**2), pibls.Dirichlet(w, y, on=sp.Eq(x, 0))],
    )


@pytest.mark.parametrize("build", [heat, burgers, system, robin, named, plate])
def test_every_kind_of_problem(build: Callable[[], pibls.Problem], tmp_path: Path) -> None:
    solution = quickly(build(), pibls.Waves(40, scale=2.0))
    loaded = back(solution, tmp_path)
    check_same(loaded, solution)
    for unknown in solution.problem.unknowns:
        assert equal(
            loaded[unknown](*(1.1,) * len(unknown.args)), solution[unknown](*(1.1,) * len(unknown.args))
        )


@pytest.mark.parametrize("build", [heat, system])
def test_an_automatic_solve_with_its_history(build: Callable[[], pibls.Problem], tmp_path: Path) -> None:
    solution = pibls.solve(build(), tol=1e-6, seed=2)
    assert solution.history
    loaded = back(solution, tmp_path)
    check_same(loaded, solution)
    assert loaded.converged
    assert loaded.settings == solution.settings


def test_many_dimensions(tmp_path: Path) -> None:
    check_same(back(solved.many(4), tmp_path), solved.many(4))


@pytest.mark.parametrize("seed", range(20))
def test_any_ends_are_kept(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.standard_normal(2) * 10.0 ** rng.integers(-12, 12))
    problem = pibls.Problem(pibls.Interval(x, low, high), [u(x) - 1], [pibls.Dirichlet(u(x), 1)])
    loaded = back(quickly(problem, pibls.Waves(4, scale=1.0)), tmp_path)
    assert loaded.problem.domain.bounds == ((low, high),)


def test_the_same_in_another_process(tmp_path: Path) -> None:
    solution = quickly(robin(), pibls.Broad(6, 6, 3, 7, scale=1.2, whiten=True))
    path = solution.save(tmp_path / "robin.pibls")
    code = (
        "import sys, numpy as np, sympy as sp, pibls\n"
        "s = pibls.load(sys.argv[1])\n"
        "w, (x, y) = s.problem.unknowns[0], s.problem.coordinates\n"
        "X = np.linspace(-1, 0.3, 300), np.linspace(0.2, 0.9, 300)\n"
        "print(s(*X).tobytes().hex(), s.evaluate(w.diff(x, 2, y), *X).tobytes().hex())\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    ).stdout.split()
    X = np.linspace(-1, 0.3, 300), np.linspace(0.2, 0.9, 300)
    w = solution.problem.unknowns[0]
    assert out == [solution(*X).tobytes().hex(), solution.evaluate(w.diff(x, 2, y), *X).tobytes().hex()]


def test_the_order_in_memory_is_kept(tmp_path: Path) -> None:
    solution = quickly(robin(), pibls.Waves(40, scale=2.0))
    basis = solution.basis
    assert isinstance(basis, WaveBasis)
    turned = WaveBasis(np.asfortranarray(basis.frequencies), basis.centre, basis.half)
    loaded = back(_with(solution, basis=turned), tmp_path)
    assert isinstance(loaded.basis, WaveBasis)
    assert loaded.basis.frequencies.flags.f_contiguous
    check_same(loaded, _with(solution, basis=turned))


def test_what_is_not_finite_is_kept(tmp_path: Path) -> None:
    from pibls.estimate import ErrorEstimate, Norms

    odd = _with(
        small(),
        residuals={"equation": Norms(np.inf, np.nan, -np.inf)},
        estimator=lambda: ErrorEstimate(np.inf, 1e-320),
        status=pibls.Status.INTERRUPTED,
        history=(pibls.Progress(2, np.inf, None, 0.1), pibls.Progress(4, 5e-324, np.nan, 0.2)),
        weights=np.array([np.nan, np.inf, -0.0, 5e-324]),
    )
    loaded = back(odd, tmp_path)
    assert equal(loaded.weights, odd.weights)
    assert loaded.summary() == odd.summary()
    assert repr((loaded.residuals, loaded.history, loaded.error)) == repr(
        (odd.residuals, odd.history, odd.error)
    )


def test_saving_again_gives_the_same_bytes(file: Path, tmp_path: Path) -> None:
    assert pibls.load(file).save(tmp_path / "again.pibls").read_bytes() == file.read_bytes()
    assert small().save(str(file)) == file


def test_the_error_is_estimated_when_it_is_saved(tmp_path: Path) -> None:
    solution = quickly(heat(), pibls.Waves(40, scale=2.0))
    assert "estimated error" not in solution.message
    loaded = back(solution, tmp_path)
    assert loaded.error == solution.error
    assert "estimated error" in loaded.message


def test_what_is_made_from_solutions_works_after_loading(tmp_path: Path) -> None:
    solution = quickly(heat(), pibls.Waves(40, scale=2.0))
    loaded = back(solution, tmp_path)
    first, second = (s.to_csv(tmp_path / f"{i}.csv") for i, s in enumerate((solution, loaded)))
    assert first.read_bytes() == second.read_bytes()


def _with(solution: pibls.Solution, **changes: Any) -> pibls.Solution:
    from dataclasses import replace

    return replace(solution, **changes)


# --- Python functions, classes of one's own -------------------------------------------------------


def test_python_functions_are_asked_for_only_where_they_are_needed(tmp_path: Path) -> None:
    def ramp(x: Array) -> Array:
        return 1 + x**2

    w = u(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1),
        [sp.Eq(pibls.known(ramp, x) * w.diff(x, 2), -1)],
        [pibls.Dirichlet(w, lambda x: 0 * x)],
    )
    solution = quickly(problem, pibls.Waves(20, scale=2.0))
    path = solution.save(tmp_path / "ramp.pibls")
    loaded, points = pibls.load(path), np.linspace(0, 1, 9)
    assert equal(loaded(points), solution(points))
    assert equal(loaded.evaluate(w.diff(x, 2), points), solution.evaluate(w.diff(x, 2), points))
    assert loaded.summary() == solution.summary()
    left = loaded.problem.equations[0].lhs
    with pytest.raises(pibls.ProblemError, match=r'python\(ramp\): .*functions=\{"ramp"'):
        loaded.evaluate(left, points)
    given = pibls.load(path, functions={"ramp": ramp})
    left = given.problem.equations[0].lhs
    assert equal(given.evaluate(left, points), solution.evaluate(problem.equations[0].lhs, points))
    assert loaded.save(tmp_path / "again.pibls").read_bytes() == path.read_bytes()


@dataclass(frozen=True)
class Own:
    """A basis of a user: 1, x, x², ….  It can be solved with, but not described."""

    size: int = 4

    def draw(self, box: Array, rng: np.random.Generator) -> Own:
        return self

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        out = []
        for (a,) in alphas:
            powers = [np.polynomial.Polynomial.basis(k).deriv(a)(X[:, 0]) for k in range(self.size)]
            out.append(np.asfortranarray(np.column_stack(powers)))
        return out


class OwnTanh(Tanh):
    """An activation of a user that bears our name."""


class OwnWaves(WaveBasis):
    """A subclass, which may do anything."""


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (Own(), "expected a basis of pibls, got one of the class Own"),
        (pibls.Joined((pibls.Waves(4, scale=1.0), Own())), "got one of the class Own"),
        (
            pibls.Features(4, 1.0, OwnTanh()),
            "expected an activation of pibls .* got one of the class OwnTanh",
        ),
        (pibls.Features(4, 1.0, Sine("sin", shift=2)), "expected an activation of pibls"),
    ],
)
def test_a_class_of_ones_own_is_refused(basis: Any, message: str, tmp_path: Path) -> None:
    solution = quickly(small().problem, basis)
    with pytest.raises(pibls.ProblemError, match=rf"solution.save\(path\): .*{message}.*holds no code"):
        solution.save(tmp_path / "own.pibls")
    assert list(tmp_path.iterdir()) == []


def test_a_subclass_is_refused(tmp_path: Path) -> None:
    basis = small().basis
    assert isinstance(basis, WaveBasis)
    own = OwnWaves(basis.frequencies, basis.centre, basis.half)
    with pytest.raises(pibls.ProblemError, match="one of the class OwnWaves"):
        _with(small(), basis=own).save(tmp_path / "own.pibls")


def test_arrays_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(pibls.ProblemError, match=r"expected arrays of float64 .* got float32"):
        _with(small(), weights=small().weights.astype(np.float32)).save(tmp_path / "own.pibls")


def test_a_domain_of_ones_own_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        pibls.ProblemError, match=r"solution.save\(path\): problem: expected a domain made of"
    ):
        solved.ring().save(tmp_path / "ring.pibls")
    assert list(tmp_path.iterdir()) == []


def test_a_specification_of_ones_own_is_kept_as_text(tmp_path: Path) -> None:
    class Mine:
        size = 4

        def draw(self, box: Array, rng: np.random.Generator) -> Any:
            return pibls.Waves(4, scale=1.0).draw(box, rng)

        def __repr__(self) -> str:
            return "Mine()"

    solution = quickly(small().problem, Mine())
    loaded = back(solution, tmp_path)
    assert loaded.settings == {"basis": "Mine()", "points": solution.settings["points"]}


def test_an_activation_object_of_ours_is_known(tmp_path: Path) -> None:
    solution = quickly(small().problem, pibls.Features(8, 1.0, Tanh()))
    loaded = back(solution, tmp_path)
    check_same(loaded, solution)
    assert isinstance(loaded.basis, FeatureBasis)
    assert isinstance(loaded.basis.layer, Layer)
    assert loaded.settings["basis"].activation == "tanh"


# --- damage ---------------------------------------------------------------------------------------


def test_every_byte_counts(file: Path) -> None:
    """Each bit of each byte, and all of them at once."""
    data = file.read_bytes()
    assert len(data) < 2000
    descriptor = os.open(file, os.O_RDWR)
    try:
        for i, byte in enumerate(data):
            for change in (1, 2, 4, 8, 16, 32, 64, 128, 255):
                os.pwrite(descriptor, bytes([byte ^ change]), i)
                with pytest.raises(pibls.ProblemError):
                    pibls.load(file)
            os.pwrite(descriptor, data[i : i + 1], i)
    finally:
        os.close(descriptor)
    pibls.load(file)


def test_every_truncation_is_refused(file: Path) -> None:
    data = file.read_bytes()
    for n in reversed(range(len(data))):
        os.truncate(file, n)
        with pytest.raises(pibls.ProblemError):
            pibls.load(file)
    file.write_bytes(data[8:])
    with pytest.raises(pibls.ProblemError, match="expected a solution file of pibls"):
        pibls.load(file)


@pytest.mark.parametrize("more", [b"\0", b"x" * 8, b"\0" * 64])
def test_something_behind_the_end_is_refused(file: Path, more: bytes) -> None:
    file.write_bytes(file.read_bytes() + more)
    with pytest.raises(pibls.ProblemError, match=r"agree with their checksum.*damaged or cut off"):
        pibls.load(file)


def test_blocks_of_zeros_and_swaps_are_refused(file: Path) -> None:
    data = file.read_bytes()
    for start in range(0, len(data) - 16, 8):
        first, second = data[start : start + 8], data[start + 8 : start + 16]
        for middle in (second + first, bytes(16)):
            changed = data[:start] + middle + data[start + 16 :]
            if changed != data:
                file.write_bytes(changed)
                with pytest.raises(pibls.ProblemError):
                    pibls.load(file)


def test_a_transfer_as_text_is_recognised(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"\r\n", b"\n"))
    with pytest.raises(pibls.ProblemError, match="transferred as text"):
        pibls.load(file)


# --- files that are wrong, but whose checksum is right --------------------------------------------


def parts_of(path: Path) -> tuple[dict[str, Any], bytes]:
    """Header and bytes of the arrays."""
    data = path.read_bytes()
    length = START.unpack(data[: START.size])[2]
    return json.loads(data[START.size : START.size + length]), data[START.size + length : -32]


def forge(
    path: Path, header: Any, arrays: bytes, *, version: int = VERSION, length: int | None = None
) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = START.pack(SIGNATURE, version, len(text) if length is None else length) + text + arrays
    path.write_bytes(body + hashlib.sha256(body).digest())
    return path


def test_a_forgery_without_changes_loads(file: Path) -> None:
    check_same(pibls.load(forge(file, *parts_of(file))), small())


@pytest.mark.parametrize("version", [0, 1, 3, 2**32 - 1])
def test_another_version_is_refused(file: Path, version: int) -> None:
    forge(file, *parts_of(file), version=version)
    with pytest.raises(
        pibls.ProblemError, match=rf"expected version 2 .* got version {version}\. Update pibls"
    ):
        pibls.load(file)


Change = Callable[[dict[str, Any]], Any]
WRONG: dict[str, tuple[Change, str]] = {
    "no problem": (lambda h: h.pop("problem"), "problem: text, got nothing"),
    "other unknowns": (lambda h: h.update(unknowns="v"), "unknowns: u, as in the problem"),
    "no basis": (lambda h: h.pop("basis"), "basis to be a table"),
    "no arrays": (lambda h: h.pop("arrays"), "arrays: a list, got nothing"),
    "a basis of another kind": (lambda h: h["basis"].update(kind="os.system"), "waves, features, broad"),
    "an activation of another kind": (lambda h: _as_features(h, "eval"), "activation: one of tanh"),
    "an array used twice": (lambda h: h["basis"].update(half=1), "an array that nothing else uses"),
    "an array unused": (
        lambda h: h["arrays"].append({"shape": [0], "order": "C"}),
        "a use for every array, got 1 without",
    ),
    "an array that is not there": (lambda h: h.update(weights=99), "an array that nothing else uses"),
    "a negative array": (lambda h: h.update(weights=-1), "a whole number from 0"),
    "weights of another length": (
        lambda h: (h["arrays"][0].update(shape=[1, 1]), h["arrays"][3].update(shape=[5])),
        r"weights: an array \(2\), got \(5,\)",
    ),
    "another dimension": (lambda h: h["arrays"][0].update(shape=[2, 1]), r"frequencies: an array \(1, any\)"),
    "more than there is": (lambda h: h["arrays"][0].update(shape=[1, 10**12]), "whole numbers from 0 to 64"),
    "a little more than there is": (lambda h: h["arrays"][0].update(shape=[1, 3]), "64 bytes .* 72 declared"),
    "a little less than there is": (lambda h: h["arrays"][0].update(shape=[1, 1]), "64 bytes .* 56 declared"),
    "a size below zero": (lambda h: h["arrays"][0].update(shape=[-1, -2]), "whole numbers"),
    "a size that is no number": (lambda h: h["arrays"][0].update(shape=["2", 1]), "whole numbers"),
    "a size that is true": (lambda h: h["arrays"][0].update(shape=[True, 2]), "whole numbers"),
    "too many axes": (lambda h: h["arrays"][0].update(shape=[1, 2, 1]), "one or two axes"),
    "another order": (lambda h: h["arrays"][0].update(order="O"), "C or F"),
    "another status": (lambda h: h.update(status="__class__"), "status: one of TOLERANCE"),
    "no residuals": (lambda h: h.update(residuals=[]), "residuals, each once"),
    "residuals of one name": (lambda h: h["residuals"].append(h["residuals"][0]), "residuals, each once"),
    "a word for a number": (lambda h: h.update(tol="1e-3; import os"), "tol: a number"),
    "a seed below zero": (lambda h: h.update(seed=-1), "seed: a whole number"),
    "a seed that is true": (lambda h: h.update(seed=True), "seed: a whole number"),
    "a class of another kind": (
        lambda h: h["settings"].update(basis={"class": "Popen", "args": "ls"}),
        "class: one of Broad",
    ),
    "a class with other words": (
        lambda h: h["settings"].update(basis={"class": "Waves", "nodes": 4, "scale": 1.0, "shell": True}),
        "settings of Waves that make sense",
    ),
    "a class with other values": (
        lambda h: h["settings"]["basis"].update(scale=-1.0),
        "settings of Waves that make sense",
    ),
    "settings inside each other": (
        lambda h: h["settings"].update(basis=_nested("parts", 100)),
        "settings with at most",
    ),
    "bases inside each other": (lambda h: h.update(basis=_deep(9)), "at most 8 bases"),
    "nothing joined": (lambda h: h.update(basis={"kind": "joined", "parts": []}), "parts: at least one"),
    "another problem": (lambda h: h.update(problem="rm -rf /"), "a TOML file"),
    "code for a problem": (
        lambda h: h.update(problem=h["problem"].replace("u_x", "__import__('os').system('ls')")),
        "problem",
    ),
}


def _as_features(header: dict[str, Any], activation: str) -> None:
    """The same eight numbers as another basis, of two features."""
    layer = {"weights": 0, "biases": 1, "centre": 2, "half": 3, "activation": activation}
    shapes: list[list[int]] = [[1, 2], [2], [1], [1], [2]]
    arrays = [{"shape": shape, "order": "C"} for shape in shapes]
    header.update(basis={"kind": "features", "layer": layer}, weights=4, arrays=arrays)


def _nested(key: str, depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return {"class": "Joined", key: value}


def _deep(depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": "waves", "frequencies": 0, "centre": 1, "half": 2}
    for _ in range(depth):
        out = {"kind": "joined", "parts": [out]}
    return out


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_a_header_that_makes_no_sense_is_refused(file: Path, change: Change, message: str) -> None:
    header, arrays = parts_of(file)
    change(header)
    forge(file, header, arrays)
    with pytest.raises(pibls.ProblemError, match=message) as refusal:
        pibls.load(file)
    assert str(file) in str(refusal.value)


def test_the_same_numbers_as_another_basis(file: Path) -> None:
    header, arrays = parts_of(file)
    _as_features(header, "tanh")
    assert isinstance(pibls.load(forge(file, header, arrays)).basis, FeatureBasis)


CELLS: dict[str, tuple[Change, str]] = {
    "nothing changed": (lambda h: None, ""),
    "a cell too few": (lambda h: h["basis"]["parts"].pop(), "one for each cell of a grid in 1"),
    "no edges": (lambda h: h["basis"].update(edges=[]), "one for each cell"),
    "edges that are words": (lambda h: h["basis"].update(edges=["a"]), "edge: a whole number"),
    "interfaces": (lambda h: h["basis"].update(on_interface=0.5), "on_interface: a whole number"),
    "edges for one point": (
        lambda h: (h["arrays"][0].update(shape=[1]), h["arrays"][-1].update(shape=[10])),
        "one for each cell",
    ),
}


@pytest.mark.parametrize(("change", "message"), CELLS.values(), ids=CELLS)
def test_cells_that_make_no_sense_are_refused(tmp_path: Path, change: Change, message: str) -> None:
    solution = quickly(small().problem, Decomposed((2,), pibls.Waves(4, scale=1.0)))
    path = solution.save(tmp_path / "cells.pibls")
    header, arrays = parts_of(path)
    change(header)
    forge(path, header, arrays)
    if not message:
        check_same(pibls.load(path), solution)
        return
    with pytest.raises(pibls.ProblemError, match=message):
        pibls.load(path)


def test_edges_must_ascend(tmp_path: Path) -> None:
    solution = quickly(small().problem, Decomposed((2,), pibls.Waves(4, scale=1.0)))
    path = solution.save(tmp_path / "cells.pibls")
    header, arrays = parts_of(path)
    assert header["basis"]["edges"] == [0]
    for first in (0.5, 2.0, float("nan")):
        forge(path, header, struct.pack("<d", first) + arrays[8:])
        with pytest.raises(pibls.ProblemError, match="ascending numbers"):
            pibls.load(path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"tol": NaN}',
        b"\xff\xfe",
        '{"tol": "θ"}'.encode(),
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b"[" * 5000 + b"]" * 5000,
        b"9" * 10_000,
        pickle.dumps({"a": 1}),
    ],
    ids=range(12),
)
def test_a_header_that_is_no_header_is_refused(file: Path, text: bytes) -> None:
    forge(file, text, parts_of(file)[1])
    with pytest.raises(pibls.ProblemError, match=r"a header in JSON|header to be a table|damaged"):
        pibls.load(file)


@pytest.mark.parametrize("length", [0, 1, MAX_HEADER, MAX_HEADER + 1, 2**63, 2**64 - 1])
def test_a_header_of_another_length_is_refused(file: Path, length: int) -> None:
    forge(file, *parts_of(file), length=length)
    with pytest.raises(pibls.ProblemError):
        pibls.load(file)


def test_any_change_of_the_header_loads_or_is_refused(file: Path) -> None:
    """Leaves and branches replaced at random, with the checksum made right again."""
    header, arrays = parts_of(file)
    rng = random.Random(7)
    junk: list[Any] = [
        None,
        True,
        -1,
        0,
        1,
        3,
        10**30,
        1.5,
        -1e308,
        "",
        "inf",
        "x",
        [],
        {},
        [[]],
        [0, 1],
        {"class": "Waves"},
    ]
    refused = 0
    for _ in range(120):
        changed = copy.deepcopy(header)
        for _ in range(rng.randint(1, 2)):
            node: Any = changed
            while True:
                keys = list(node) if isinstance(node, dict) else range(len(node))
                if not keys:
                    break
                key = rng.choice(list(keys))
                if isinstance(node[key], (dict, list)) and rng.random() < 0.8:
                    node = node[key]
                    continue
                if isinstance(node, dict) and rng.random() < 0.2:
                    del node[key]
                else:
                    node[key] = copy.deepcopy(rng.choice(junk))
                break
        forge(file, changed, arrays)
        try:
            assert np.shape(pibls.load(file)(np.linspace(0, 1, 3))) == (3,)
        except pibls.ProblemError:
            refused += 1
    assert 30 < refused < 120


# --- memory ---------------------------------------------------------------------------------------


def peak_of_refusal(path: Path) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(pibls.ProblemError):
            pibls.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("shape", [[1, 10**9], [10**9, 1], [2**31, 2**31], [2**62, 8], [1, 10**300]])
def test_oversized_arrays_are_not_allocated(file: Path, shape: list[int]) -> None:
    header, arrays = parts_of(file)
    header["arrays"][0]["shape"] = shape
    assert peak_of_refusal(forge(file, header, arrays)) < 2_000_000


def test_many_arrays_that_together_are_too_large_are_not_allocated(file: Path) -> None:
    header, arrays = parts_of(file)
    header["arrays"] += [{"shape": [64, 64], "order": "C"}] * 1000
    assert peak_of_refusal(forge(file, header, arrays)) < 2_000_000


def test_a_giant_file_is_not_read(file: Path) -> None:
    os.truncate(file, MAX_FILE + 1)  # it takes no room on disk
    assert peak_of_refusal(file) < 1_000_000


def test_a_long_foreign_file_is_not_read(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"\0")
    os.truncate(foreign, MAX_FILE // 2)
    assert peak_of_refusal(foreign) < 1_000_000


def test_a_header_that_claims_the_whole_file_is_bounded(file: Path) -> None:
    data = START.pack(SIGNATURE, VERSION, 2**40)
    file.write_bytes(data)
    os.truncate(file, MAX_FILE // 2)
    assert peak_of_refusal(file) < 1_000_000


# --- foreign files --------------------------------------------------------------------------------


class Payload:
    """What a pickle would do when it is opened."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def test_nothing_is_executed(file: Path, tmp_path: Path) -> None:
    marker = tmp_path / "touched"
    bomb = pickle.dumps(Payload(marker))
    objects = np.array([Payload(marker)], dtype=object)
    header, arrays = parts_of(file)
    good = file.read_bytes()
    attempts = [
        bomb,
        pickle.dumps(Payload(marker), protocol=0),
        pickle.dumps(Payload(marker), protocol=2),
        npy(objects),
        npz(a=objects),
        zipped(data=bomb, **{"archive/data.pkl": bomb}),
        SIGNATURE + bomb,
        good + bomb,
        good[: START.size] + bomb,
    ]
    for data in attempts:
        file.write_bytes(data)
        with pytest.raises(pibls.ProblemError):
            pibls.load(file)
    for forged in (bomb, json.dumps({**header, "problem": bomb.decode("latin-1")}).encode()):
        forge(file, forged, arrays)
        with pytest.raises(pibls.ProblemError):
            pibls.load(file)
    # As an array it is but numbers.
    numbers = bomb[: len(arrays)] + arrays[len(bomb) :]
    assert pibls.load(forge(file, header, numbers)).weights.shape == small().weights.shape
    assert not marker.exists()
    pickle.loads(bomb)
    assert marker.exists(), "the payload works where it is let"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (zipped(a=b"1"), "a zip archive"),
        (npz(a=np.ones(3)), "a zip archive"),
        (npy(np.ones(3)), "an array file of NumPy"),
        (pickle.dumps([1]), "a Python pickle"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"", "an empty file"),
        (b"\0" * 100, "another kind of file"),
        (b"\x89PNG\r\n\x1a\n", "another kind of file"),
        (b'title = "Poisson"\n', "another kind of file"),
    ],
    ids=range(10),
)
def test_a_foreign_file_is_named(tmp_path: Path, data: bytes, kind: str) -> None:
    path = tmp_path / "foreign.pibls"
    path.write_bytes(data)
    match = rf"foreign.pibls: expected a solution file of pibls, got {kind}|got a file packed by {kind}"
    with pytest.raises(pibls.ProblemError, match=match):
        pibls.load(path)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        pibls.ProblemError, match=r"nothing.pibls: expected a file that can be read, got No such"
    ):
        pibls.load(tmp_path / "nothing.pibls")
    with pytest.raises(pibls.ProblemError, match="a folder or device"):
        pibls.load(tmp_path)
    with pytest.raises(pibls.ProblemError, match="embedded null"):
        pibls.load("a\0b")
    for path in (None, 3, b"a", ""):
        with pytest.raises(pibls.ProblemError, match=r"pibls.load\(path\): expected the name of a file"):
            pibls.load(path)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(pibls.ProblemError, match="a folder or device"):
        pibls.load(tmp_path / "pipe")


# --- writing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["fsync", "replace"])
@pytest.mark.parametrize(
    "problem", [KeyboardInterrupt(), MemoryError(), OSError(28, "No space left on device")]
)
def test_an_interrupted_save_leaves_the_old_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, place: str, problem: BaseException
) -> None:
    before = file.read_bytes()

    def stop(*_: Any) -> None:
        raise problem

    other = quickly(small().problem, pibls.Waves(6, scale=1.0))
    with monkeypatch.context() as patched:
        patched.setattr(os, place, stop)
        expected = pibls.ProblemError if isinstance(problem, OSError) else type(problem)
        with pytest.raises(expected, match="No space left" if isinstance(problem, OSError) else None):
            other.save(file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]
    check_same(pibls.load(other.save(file)), other)


def test_a_killed_save_leaves_the_old_file(file: Path) -> None:
    before = file.read_bytes()
    code = (
        "import os, sys, pibls\nos.fsync = lambda _: os._exit(9)\npibls.load(sys.argv[1]).save(sys.argv[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(file)], check=False)
    assert done.returncode == 9
    assert file.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_only_a_file_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(pibls.ProblemError, match="a folder, a device or a pipe"):
        small().save(tmp_path / "pipe")
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
def test_permissions_are_kept(tmp_path: Path) -> None:
    path = small().save(tmp_path / "mine.pibls")
    path.chmod(0o600)
    small().save(path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    path.chmod(0o400)
    with pytest.raises(pibls.ProblemError, match="a file that is read-only"):
        small().save(path)


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        pibls.ProblemError, match=r"solution.save\(path\): expected a file that can be written"
    ):
        small().save(tmp_path / "no" / "such" / "folder.pibls")
    with pytest.raises(pibls.ProblemError, match="can be written"):
        small().save(tmp_path)
    with pytest.raises(pibls.ProblemError, match="can be written"):
        small().save("a\0b")
    with pytest.raises(pibls.ProblemError, match="expected the name of a file"):
        small().save("")
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.pibls"
    link.symlink_to(file)
    other = quickly(small().problem, pibls.Waves(6, scale=1.0))
    other.save(link)
    assert link.is_symlink()
    check_same(pibls.load(file), other)


def test_too_large_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pibls.io.container.MAX_FILE", 1000)
    with pytest.raises(pibls.ProblemError, match="whose file has at most 1000 bytes"):
        small().save(tmp_path / "large.pibls")
    assert list(tmp_path.iterdir()) == []
