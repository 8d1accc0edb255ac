"""Solutions on disk: round trips are exact to the bit, and files are written atomically."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.validation.estimate import ErrorEstimate
from pibls.arrays import Array, MultiIndex
from pibls.basis import FeatureBasis, RandomFourierBasis
from pibls.basis.activation import ACTIVATIONS, Sine, Tanh
from pibls.basis.layer import Layer
from pibls.spaces import CellSpace, CellTree, Decomposed, SingleDomainSpace, TimeWindows, divided_at_planes
from tests import solved_problems
from tests.call_counts import count_calls
from tests.saved_solutions import (
    assert_same_solution,
    is_bitwise_equal,
    save_and_load,
    small_solution,
    solve_quietly,
    u,
    v,
)
from tests.solved_problems import t, x, y

# --- round trips ----------------------------------------------------------------------------------

BASES = {
    "random features": pibls.Waves(40, scale=2.0),
    "random features in groups": pibls.Waves(41, scale=(2.0, 3.0), groups=(((0,), 6, 2.0), ((1,), 5, 1.0))),
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
    "decomposed random features": Decomposed((1, 2), pibls.Joined((pibls.Waves(10, scale=2.0),))),
    **{f"features of {name}": pibls.Features(30, scale=2.0, activation=name) for name in ACTIVATIONS},
}


def first_basis(solution: pibls.Solution) -> Any:
    space: Any = solution.space
    while hasattr(space, "parts"):
        space = space.parts[0]
    return space.bases[0]


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
def test_every_basis_round_trips(basis: Any, tmp_path: Path) -> None:
    a, b = sp.symbols("x y")
    w = u(a, b)
    problem = pibls.Problem(
        pibls.Box({a: (0, 2), b: (0, 1)}),
        [sp.Eq(w.diff(a, 2) + w.diff(b, 2), sp.sin(a) * b)],
        [pibls.Dirichlet(w, a * b)],
    )
    solution = solve_quietly(problem, basis, points=pibls.Points(60, 40), seed=3)
    loaded = save_and_load(solution, tmp_path)
    assert_same_solution(loaded, solution)
    assert loaded.settings == solution.settings
    assert type(loaded.space) is type(solution.space)
    assert type(first_basis(loaded)) is type(first_basis(solution))


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
    """Names and assumptions that need a special notation in the problem's text."""
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
def test_every_kind_of_problem_round_trips(build: Callable[[], pibls.Problem], tmp_path: Path) -> None:
    solution = solve_quietly(build(), pibls.Waves(40, scale=2.0))
    loaded = save_and_load(solution, tmp_path)
    assert_same_solution(loaded, solution)
    for unknown in solution.problem.unknowns:
        assert is_bitwise_equal(
            loaded[unknown](*(1.1,) * len(unknown.args)), solution[unknown](*(1.1,) * len(unknown.args))
        )


@pytest.mark.parametrize("build", [heat, system])
def test_automatic_solve_is_saved_with_its_history(
    build: Callable[[], pibls.Problem], tmp_path: Path
) -> None:
    solution = pibls.solve(build(), tol=1e-6, seed=2)
    assert solution.history
    loaded = save_and_load(solution, tmp_path)
    assert_same_solution(loaded, solution)
    assert loaded.converged
    assert loaded.settings == solution.settings


def test_solution_in_four_dimensions_round_trips(tmp_path: Path) -> None:
    assert_same_solution(save_and_load(solved_problems.unit_box(4), tmp_path), solved_problems.unit_box(4))


@pytest.mark.parametrize("seed", range(20))
def test_interval_bounds_are_exact(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.standard_normal(2) * 10.0 ** rng.integers(-12, 12))
    problem = pibls.Problem(pibls.Interval(x, low, high), [u(x) - 1], [pibls.Dirichlet(u(x), 1)])
    loaded = save_and_load(solve_quietly(problem, pibls.Waves(4, scale=1.0)), tmp_path)
    assert loaded.problem.domain.bounds == ((low, high),)


def test_same_values_in_another_process(tmp_path: Path) -> None:
    solution = solve_quietly(robin(), pibls.Broad(6, 6, 3, 7, scale=1.2, whiten=True))
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


def test_memory_order_is_kept(tmp_path: Path) -> None:
    solution = solve_quietly(robin(), pibls.Waves(40, scale=2.0))
    basis = first_basis(solution)
    fortran_ordered = RandomFourierBasis(np.asfortranarray(basis.frequencies), basis.centre, basis.half)
    changed = _with(solution, space=SingleDomainSpace((fortran_ordered,)))
    loaded = save_and_load(changed, tmp_path)
    assert first_basis(loaded).frequencies.flags.f_contiguous
    assert_same_solution(loaded, changed)


def test_nonfinite_values_are_kept(tmp_path: Path) -> None:
    from pibls.adaptive.validation.estimate import Norms

    nonfinite = _with(
        small_solution(),
        residuals={"equation": Norms(np.inf, np.nan, -np.inf)},
        estimator=lambda: ErrorEstimate(np.inf, 1e-320),
        status=pibls.Status.INTERRUPTED,
        history=(
            pibls.Progress(2, np.inf, None, 0.1),
            pibls.Progress(4, 5e-324, np.nan, 0.2, t=-np.inf, windows=3, cells=7, expected=0.3),
        ),
        coefficients=np.array([np.nan, np.inf, -0.0, 5e-324]),
    )
    loaded = save_and_load(nonfinite, tmp_path)
    assert is_bitwise_equal(loaded.coefficients, nonfinite.coefficients)
    assert loaded.summary() == nonfinite.summary()
    assert repr((loaded.residuals, loaded.history, loaded.error)) == repr(
        (nonfinite.residuals, nonfinite.history, nonfinite.error)
    )


# --- cells, time windows, notes --------------------------------------------------------------------


def cells() -> pibls.Solution:
    """Return a solution with two unknowns in cells of different sizes that share one array of frequencies."""
    a, b = sp.symbols("x y")
    p, q = u(a, b), v(a, b)
    problem = pibls.Problem(
        pibls.Box({a: (0, 2), b: (0, 1)}),
        [p.diff(a, 2) + p.diff(b, 2) - q, q.diff(a) - p],
        [pibls.Dirichlet(p, 0), pibls.Dirichlet(q, a, on=sp.Eq(a, 0))],
    )
    tree = CellTree.grid(np.array([[0.0, 2.0], [0.0, 1.0]]), (3, 2))
    tree = tree.refine(
        lambda i, box: divided_at_planes(
            [(i % 2, float(box[i % 2].mean())), (0, float(box[0, 0] + 0.1))][: i % 3]
        )
    )
    rng = np.random.default_rng(4)
    frequencies = rng.standard_normal((2, 8))
    other = RandomFourierBasis(rng.standard_normal((2, 3)), np.array([1.0, 0.5]), np.array([1.0, 0.5]))
    parts = tuple(
        SingleDomainSpace(
            (RandomFourierBasis(frequencies, box.mean(axis=1), 0.5 * np.ptp(box, axis=1)), other)
        )
        for box in tree.boxes
    )
    space = CellSpace(tree, parts)
    return _with(
        solve_quietly(problem, pibls.Waves(4, scale=1.0)),
        space=space,
        coefficients=rng.standard_normal(space.columns),
    )


def test_solution_in_cells_round_trips(tmp_path: Path) -> None:
    solution = cells()
    loaded = save_and_load(solution, tmp_path)
    assert_same_solution(loaded, solution)
    assert isinstance(loaded.space, CellSpace)
    assert isinstance(solution.space, CellSpace)
    assert loaded.space.tree == solution.space.tree
    first, second = (loaded.space.parts[i].bases[0] for i in (0, -1))
    assert isinstance(first, RandomFourierBasis)
    assert isinstance(second, RandomFourierBasis)
    assert first.frequencies is second.frequencies


def test_shared_basis_is_shared_after_loading(tmp_path: Path) -> None:
    solution = solve_quietly(system(), pibls.Waves(10, scale=2.0))
    loaded = save_and_load(solution, tmp_path)
    assert isinstance(loaded.space, SingleDomainSpace)
    assert loaded.space.bases[0] is loaded.space.bases[1]


def pendulum_in_time_windows(count: int, cells: int = 1) -> pibls.Solution:
    """Return a pendulum in many time windows with one array of frequencies and random coefficients."""
    rng = np.random.default_rng(5)
    frequencies = rng.standard_normal((1, 16))
    edges = np.cumsum([0.0, *(0.5 + rng.random(count))])
    edges /= edges[-1]

    def part(low: float, high: float) -> SingleDomainSpace | CellSpace:
        box = np.array([[low, high]])
        tree = CellTree.grid(box, (cells,))
        made = tuple(
            SingleDomainSpace.shared(
                RandomFourierBasis(frequencies, b.mean(axis=1), 0.5 * np.ptp(b, axis=1)), 2
            )
            for b in tree.boxes
        )
        return made[0] if cells == 1 else CellSpace(tree, made)

    space = TimeWindows(0, tuple(edges.tolist()), tuple(map(part, edges[:-1], edges[1:])))
    each = (ErrorEstimate(1e-9, 1e-10), ErrorEstimate(2e-9, 1e-10))
    history = tuple((float(s), float(e)) for s, e in zip(edges[1:], rng.random(count), strict=True))
    return _with(
        solve_quietly(system(), pibls.Waves(4, scale=1.0)),
        space=space,
        coefficients=rng.standard_normal(space.columns),
        history=tuple(
            pibls.Progress(64, 0.0, None, 0.1, float(s), i, cells) for i, s in enumerate(edges[1:])
        ),
        estimator=lambda: ErrorEstimate(2e-9, 1e-10, each=each, history=history),
        notes={"stopped": (0.7, "no window is short enough"), "lost": None},
    )


@pytest.mark.parametrize("cells", [1, 20])
def test_cost_of_saving_is_linear_in_the_number_of_time_windows(cells: int, tmp_path: Path) -> None:
    """The frequencies are stored once, and the cost per window does not grow with their number."""
    count = 1000 if cells == 1 else 300
    solution, few = pendulum_in_time_windows(count, cells), pendulum_in_time_windows(count // 4, cells)
    path = tmp_path / "windows.pibls"
    effort = count_calls(lambda: pibls.load(few.save(path)))
    assert count_calls(lambda: pibls.load(solution.save(path))) < 4.2 * effort
    assert effort < count // 4 * (300 + 300 * cells)
    loaded = pibls.load(path)
    assert_same_solution(loaded, solution)
    assert loaded.windows == solution.windows
    assert path.stat().st_size < 8 * solution.coefficients.size + count * (400 + 150 * cells)


def test_error_estimate_is_kept_completely(tmp_path: Path) -> None:
    solution = pendulum_in_time_windows(5)
    loaded = save_and_load(solution, tmp_path)
    assert loaded.error.each == solution.error.each
    assert loaded.error.history == solution.error.history
    for one, other in zip(loaded.error.over_time(), solution.error.over_time(), strict=True):
        assert is_bitwise_equal(one, other)
    assert loaded[v].error == solution[v].error
    unchecked = save_and_load(
        _with(small_solution(), estimator=lambda: ErrorEstimate(np.inf, np.inf, checked=False)), tmp_path
    )
    assert not unchecked.error.checked
    assert "not estimated" in unchecked.summary()


def test_notes_are_kept(tmp_path: Path) -> None:
    notes = {
        "stopped": (0.5, "it was interrupted there"),
        "lost": None,
        "cell_errors": np.array([1e-3, 2e-4]),
        "counts": np.arange(3),
        "far": np.inf,
        "other": {"a": 1},
        "flags": (True, 3, ("deep", (1.5,))),
    }
    loaded = save_and_load(_with(small_solution(), notes=notes), tmp_path)
    kept: dict[str, Any] = {**loaded.notes}
    assert is_bitwise_equal(kept.pop("cell_errors"), notes.pop("cell_errors"))
    assert is_bitwise_equal(kept.pop("counts"), np.arange(3.0))
    assert notes.pop("counts") is not None
    assert kept == notes
    assert "It ends at 0.5: it was interrupted there." in loaded.explanation


def test_saving_a_loaded_solution_gives_the_same_bytes(file: Path, tmp_path: Path) -> None:
    assert pibls.load(file).save(tmp_path / "again.pibls").read_bytes() == file.read_bytes()
    assert small_solution().save(str(file)) == file


def test_saving_estimates_the_error(tmp_path: Path) -> None:
    solution = solve_quietly(heat(), pibls.Waves(40, scale=2.0))
    assert "estimated error" not in solution.message
    loaded = save_and_load(solution, tmp_path)
    assert loaded.error == solution.error
    assert "estimated error" in loaded.message


def test_csv_of_a_loaded_solution_is_the_same(tmp_path: Path) -> None:
    solution = solve_quietly(heat(), pibls.Waves(40, scale=2.0))
    loaded = save_and_load(solution, tmp_path)
    first, second = (s.to_csv(tmp_path / f"{i}.csv") for i, s in enumerate((solution, loaded)))
    assert first.read_bytes() == second.read_bytes()


def _with(solution: pibls.Solution, **changes: Any) -> pibls.Solution:
    from dataclasses import replace

    return replace(solution, **changes)


# --- Python functions, user-defined classes --------------------------------------------------------


def test_python_functions_are_required_only_where_they_are_evaluated(tmp_path: Path) -> None:
    def ramp(x: Array) -> Array:
        return 1 + x**2

    w = u(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1),
        [sp.Eq(pibls.known(ramp, x) * w.diff(x, 2), -1)],
        [pibls.Dirichlet(w, lambda x: 0 * x)],
    )
    solution = solve_quietly(problem, pibls.Waves(20, scale=2.0))
    path = solution.save(tmp_path / "ramp.pibls")
    loaded, points = pibls.load(path), np.linspace(0, 1, 9)
    assert is_bitwise_equal(loaded(points), solution(points))
    assert is_bitwise_equal(loaded.evaluate(w.diff(x, 2), points), solution.evaluate(w.diff(x, 2), points))
    assert loaded.summary() == solution.summary()
    left = loaded.problem.equations[0].lhs
    with pytest.raises(pibls.ProblemError, match=r'python\(ramp\): .*functions=\{"ramp"'):
        loaded.evaluate(left, points)
    with_function = pibls.load(path, functions={"ramp": ramp})
    left = with_function.problem.equations[0].lhs
    assert is_bitwise_equal(
        with_function.evaluate(left, points), solution.evaluate(problem.equations[0].lhs, points)
    )
    assert loaded.save(tmp_path / "again.pibls").read_bytes() == path.read_bytes()


@dataclass(frozen=True)
class UserDefinedBasis:
    """A user-defined basis 1, x, x², …, which can be used to solve but not be saved."""

    size: int = 4

    def draw(self, box: Array, rng: np.random.Generator) -> UserDefinedBasis:
        return self

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        out = []
        for (a,) in alphas:
            powers = [np.polynomial.Polynomial.basis(k).deriv(a)(X[:, 0]) for k in range(self.size)]
            out.append(np.asfortranarray(np.column_stack(powers)))
        return out


class UserDefinedTanh(Tanh):
    """A user-defined activation with the name of a built-in one."""


class UserDefinedFourierBasis(RandomFourierBasis):
    """A subclass, whose behaviour is unknown."""


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (UserDefinedBasis(), "expected a basis of pibls, got an object of class UserDefinedBasis"),
        (
            pibls.Joined((pibls.Waves(4, scale=1.0), UserDefinedBasis())),
            "got an object of class UserDefinedBasis",
        ),
        (
            pibls.Features(4, 1.0, UserDefinedTanh()),
            "expected an activation of pibls .* got an object of class UserDefinedTanh",
        ),
        (pibls.Features(4, 1.0, Sine("sin", shift=2)), "expected an activation of pibls"),
    ],
)
def test_user_defined_class_is_rejected(basis: Any, message: str, tmp_path: Path) -> None:
    solution = solve_quietly(small_solution().problem, basis)
    with pytest.raises(pibls.ProblemError, match=rf"solution.save\(path\): .*{message}.*contains no code"):
        solution.save(tmp_path / "own.pibls")
    assert list(tmp_path.iterdir()) == []


def test_subclass_is_rejected(tmp_path: Path) -> None:
    basis = first_basis(small_solution())
    basis_of_subclass = UserDefinedFourierBasis(basis.frequencies, basis.centre, basis.half)
    with pytest.raises(pibls.ProblemError, match="an object of class UserDefinedFourierBasis"):
        _with(small_solution(), space=SingleDomainSpace((basis_of_subclass,))).save(tmp_path / "own.pibls")


def test_arrays_of_another_type_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(pibls.ProblemError, match=r"expected arrays of float64 .* got float32"):
        _with(small_solution(), coefficients=small_solution().coefficients.astype(np.float32)).save(
            tmp_path / "own.pibls"
        )


def test_user_defined_domain_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(
        pibls.ProblemError, match=r"solution.save\(path\): problem: expected a domain built from"
    ):
        solved_problems.ring().save(tmp_path / "ring.pibls")
    assert list(tmp_path.iterdir()) == []


def test_user_defined_specification_is_kept_as_text(tmp_path: Path) -> None:
    class UserDefinedFeatures:
        size = 4

        def draw(self, box: Array, rng: np.random.Generator) -> Any:
            return pibls.Waves(4, scale=1.0).draw(box, rng)

        def __repr__(self) -> str:
            return "UserDefinedFeatures()"

    solution = solve_quietly(small_solution().problem, UserDefinedFeatures())
    loaded = save_and_load(solution, tmp_path)
    assert loaded.settings == {"basis": "UserDefinedFeatures()", "points": solution.settings["points"]}


def test_builtin_activation_object_is_saved_by_name(tmp_path: Path) -> None:
    solution = solve_quietly(small_solution().problem, pibls.Features(8, 1.0, Tanh()))
    loaded = save_and_load(solution, tmp_path)
    assert_same_solution(loaded, solution)
    assert isinstance(first_basis(loaded), FeatureBasis)
    assert isinstance(first_basis(loaded).layer, Layer)
    assert loaded.settings["basis"].activation == "tanh"


# --- writing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["fsync", "replace"])
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), MemoryError(), OSError(28, "No space left on device")]
)
def test_interrupted_save_keeps_the_old_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, function: str, error: BaseException
) -> None:
    before = file.read_bytes()

    def stop(*_: Any) -> None:
        raise error

    other = solve_quietly(small_solution().problem, pibls.Waves(6, scale=1.0))
    with monkeypatch.context() as patched:
        patched.setattr(os, function, stop)
        expected = pibls.ProblemError if isinstance(error, OSError) else type(error)
        with pytest.raises(expected, match="No space left" if isinstance(error, OSError) else None):
            other.save(file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]
    assert_same_solution(pibls.load(other.save(file)), other)


def test_killed_save_keeps_the_old_file(file: Path) -> None:
    before = file.read_bytes()
    code = (
        "import os, sys, pibls\nos.fsync = lambda _: os._exit(9)\npibls.load(sys.argv[1]).save(sys.argv[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(file)], check=False)
    assert done.returncode == 9
    assert file.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(pibls.ProblemError, match="a folder, a device or a pipe"):
        small_solution().save(tmp_path / "pipe")
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
def test_permissions_are_kept(tmp_path: Path) -> None:
    path = small_solution().save(tmp_path / "mine.pibls")
    path.chmod(0o600)
    small_solution().save(path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    path.chmod(0o400)
    with pytest.raises(pibls.ProblemError, match="a read-only file"):
        small_solution().save(path)


def test_unwritable_path_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(
        pibls.ProblemError, match=r"solution.save\(path\): expected a file that can be written"
    ):
        small_solution().save(tmp_path / "no" / "such" / "folder.pibls")
    with pytest.raises(pibls.ProblemError, match="can be written"):
        small_solution().save(tmp_path)
    with pytest.raises(pibls.ProblemError, match="can be written"):
        small_solution().save("a\0b")
    with pytest.raises(pibls.ProblemError, match="expected a file name"):
        small_solution().save("")
    assert list(tmp_path.iterdir()) == []


def test_symbolic_link_is_kept(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.pibls"
    link.symlink_to(file)
    other = solve_quietly(small_solution().problem, pibls.Waves(6, scale=1.0))
    other.save(link)
    assert link.is_symlink()
    assert_same_solution(pibls.load(file), other)


def test_size_limit_is_checked_before_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pibls.io.container.MAX_FILE", 900)
    with pytest.raises(pibls.ProblemError, match="whose file has at most 900 bytes"):
        small_solution().save(tmp_path / "large.pibls")
    assert list(tmp_path.iterdir()) == []
