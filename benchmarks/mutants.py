"""make mutants: change one thing of the core at a time in a copy, and see whether the quick tests notice.

    python -m benchmarks.mutants [--workers 2] [--only WORDS] [--list] [--least 0.9] [--near]

Tests that are likely to notice come first: those that import the changed module or its room, then what is
solved and judged, at last the doors (texts, files, pictures), which ``--near`` leaves out; the first failure
ends a run.

Each result is a file of its own in .mutants/, written whole; a claim beside it says that someone is at it.
So a run can be interrupted and resumed, and several can go on at once. A change that was noticed stays so
while the changed file is the same; one that was not is tried again when the tests have changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmarks.mutations import THRESHOLDS, Mutant, mutants

ROOT = Path(__file__).parents[1]
STORE = ROOT / ".mutants"
COPIED = ("src", "tests", "benchmarks", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")
TIMEOUT = 900
"""Seconds of the processor; a change that makes the tests hang is noticed too."""
DOORS = (
    "test_bad_", "test_cli", "test_damaged", "test_drawings", "test_exchange", "test_gallery", "test_harness",
    "test_html", "test_layers", "test_mutants", "test_pages", "test_peers_", "test_picture", "test_plot",
    "test_problem_file", "test_readme", "test_records", "test_report", "test_shape_files",
    "test_solution_file",    "test_stating", "test_studies", "test_text", "test_windows_out",
)  # fmt: skip
"""Files of tests that hardly look at numbers."""
FIRST = (
    "test_thresholds", "test_estimate_edges", "test_firmness", "test_regressions", "test_manufactured",
    "test_solver", "test_evolution",
)  # fmt: skip
_BESIDE = 100
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["numpy", "scipy.linalg", "scipy.optimize", "sympy", "mpmath", "pytest"])
BASELINE = Mutant("nothing changed", "__init__.py", 0, 0, "")


def copy_tree(to: Path) -> Path:
    """A copy of what the tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "figures", "data-fields")
            shutil.copytree(source, to / name, ignore=ignored)
        elif source.exists():
            shutil.copy2(source, to / name)
    return to


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def digest_of_tests() -> str:
    return digest(*(p.read_text(encoding="utf-8") for p in sorted((ROOT / "tests").rglob("*.py"))))


def ordered(mutant: Mutant, tree: Path, near: bool) -> list[str]:
    """The files of tests, those first that are likely to notice."""
    module = ".".join(Path(mutant.file).with_suffix("").parts)
    room = module.rpartition(".")[0]

    def rank(path: Path) -> tuple[bool, bool, bool, int, str]:
        text = path.read_text(encoding="utf-8")
        place = FIRST.index(path.stem) if path.stem in FIRST else len(FIRST)
        named = path.stem == f"test_{module.rpartition('.')[2]}" or f"pibls.{module} " in text
        return path.name.startswith(DOORS), not named, f"pibls.{room} " not in text, place, path.name

    files = sorted((tree / "tests").glob("test_*.py"), key=rank)
    return [f"tests/{p.name}" for p in files if not (near and p.name.startswith(DOORS))]


def tried(mutant: Mutant, tree: Path, selection: str, near: bool) -> dict[str, Any]:
    """Run the tests with the change in this copy; the copy is as before afterwards."""
    target = tree / "src" / "pibls" / mutant.file
    source = target.read_text(encoding="utf-8")
    files = ordered(mutant, tree, near)
    began = time.perf_counter()
    try:
        target.write_text(mutant.applied(source), encoding="utf-8")
        noticed, by = False, ""
        for some in (files[:1], files[1:5], files[5:]):  # to collect them all takes longer than most of them
            code, output = tested(tree, some, selection)
            # 1: a test failed; 2 to 4: not even the tests could be collected; 5: none was chosen.
            if code not in (0, 5):
                noticed, by = True, _first_failure(output) or "the time limit"
                break
    finally:
        target.write_text(source, encoding="utf-8")
    return {"name": mutant.name, "file": mutant.file, "noticed": noticed, "by": by,
            "seconds": round(time.perf_counter() - began, 1)}  # fmt: skip


def tested(tree: Path, files: list[str], selection: str) -> tuple[int, str]:
    """What pytest says of these files in a copy: its exit code, and what it printed.

    It runs in a fork of a process that has imported what takes long, and nothing of pibls.
    """
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said"
        args = ["-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-m", selection, *files]
        child = FORKS.Process(target=in_a_copy, args=(str(tree), args, str(said)))
        child.start()
        child.join()
        code = child.exitcode
        return (1 if code is None else code), said.read_text(encoding="utf-8") if said.exists() else ""


def in_a_copy(tree: str, args: list[str], said: str) -> None:
    """Run pytest on a copy of the sources; ends the process."""
    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (TIMEOUT, TIMEOUT))
    os.chdir(tree)
    sys.dont_write_bytecode = True
    sys.path[:] = [f"{tree}/src", tree, *(p for p in sys.path if Path(p or ".").resolve() != ROOT)]
    for name in [m for m in sys.modules if m.partition(".")[0] in ("benchmarks", "pibls", "tests")]:
        del sys.modules[name]
    with open(said, "w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        code = int(pytest.main(args))
        sys.stdout.flush()
    os._exit(code)


def _first_failure(output: str) -> str:
    lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].split(" - ")[0].partition(" ")[2] if lines else ""


def key_of(mutant: Mutant) -> str:
    source = (ROOT / "src" / "pibls" / mutant.file).read_text(encoding="utf-8")
    if mutant.file.startswith(THRESHOLDS):  # what stands beside it there is no part of it
        return digest(mutant.file, source[max(mutant.start - _BESIDE, 0) : mutant.start], mutant.text)
    return digest(mutant.file, mutant.applied(source))


def known(mutant: Mutant, tests: str) -> dict[str, Any] | None:
    """The result of an earlier run, where it still holds."""
    try:
        found: dict[str, Any] = json.loads((STORE / f"{key_of(mutant)}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if found["noticed"] or found["tests"] == tests else None


@contextmanager
def claimed(mutant: Mutant) -> Iterator[bool]:
    """Whether this process may try it: nobody else that is alive does."""
    claim = STORE / f"{key_of(mutant)}.claim"
    if claim.exists() and not _alive(claim):
        claim.unlink(missing_ok=True)
    try:
        with open(claim, "x", encoding="utf-8") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        yield False
        return
    try:
        yield True
    finally:
        claim.unlink(missing_ok=True)


def _alive(claim: Path) -> bool:
    try:
        os.kill(int(claim.read_text(encoding="utf-8")), 0)
    except (OSError, ValueError):
        return False
    return True


def keep(mutant: Mutant, result: dict[str, Any], tests: str) -> None:
    path = STORE / f"{key_of(mutant)}.json"
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps({**result, "tests": tests}, indent=1), encoding="utf-8")
    part.replace(path)


def report(wanted: list[Mutant], lost: list[str], tests: str) -> tuple[str, float]:
    """The table as text, and the share that was noticed."""
    results = [known(m, tests) for m in wanted]
    done = [r for r in results if r is not None]
    noticed = [r for r in done if r["noticed"]]
    share = len(noticed) / len(done) if done else 1.0
    left = f"{len(wanted) - len(done)} not tried"
    lines = [f"{len(noticed)} of {len(done)} changes were noticed ({share:.0%}); {left}"]
    lines += [f"  not noticed: {r['name']} ({r['file']})" for r in done if not r["noticed"]]
    lines += [f"  not found in the source any more: {name}" for name in lost]
    return "\n".join(lines), share


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", help="only changes whose name or file contains this")
    parser.add_argument("--list", action="store_true", help="name them and what is known; run nothing")
    parser.add_argument("--lines", action="store_true", help="only lines of the core, no thresholds")
    parser.add_argument("--near", action="store_true", help="without the tests of the doors")
    parser.add_argument("--select", default="not slow", help="pytest -m")
    parser.add_argument("--least", type=float, default=0.0, help="fail if a smaller share was noticed")
    given = parser.parse_args()
    STORE.mkdir(exist_ok=True)
    tests = digest_of_tests()
    every, lost = mutants(ROOT / "src" / "pibls")
    wanted = [m for m in every if given.only in m.name or given.only in m.file]
    if given.lines:
        wanted = [m for m in wanted if not m.file.startswith(THRESHOLDS)]
    if not given.list and not run(wanted, tests, given.workers, given.select, given.near):
        return 2
    if given.list:
        for m in wanted:
            result = known(m, tests)
            state = "?" if result is None else result["by"] or "NOT NOTICED"
            print(f"{m.file:32} {m.name:44} {state}")
    text, share = report(wanted, lost, tests)
    print(text)
    return int(share < given.least)


def run(wanted: list[Mutant], tests: str, workers: int, selection: str, near: bool) -> bool:
    """Try what is not known yet; False where the tests fail without any change."""
    left = [m for m in wanted if known(m, tests) is None]
    with tempfile.TemporaryDirectory(prefix="pibls-mutants-") as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for i in range(workers):
            trees.put(copy_tree(Path(folder) / str(i)))
        if left and known(BASELINE, tests) is None:
            result = tried(BASELINE, Path(folder) / "0", selection, near)
            if result["noticed"]:
                print(f"The tests fail without any change: {result['by']}")
                return False
            keep(BASELINE, result, tests)

        def one(mutant: Mutant) -> None:
            with claimed(mutant) as mine:
                if not mine or known(mutant, tests) is not None:
                    return
                tree = trees.get()
                try:
                    result = tried(mutant, tree, selection, near)
                finally:
                    trees.put(tree)
                keep(mutant, result, tests)
                print(f"{mutant.name:44} {result['by'] or 'NOT NOTICED'} ({result['seconds']} s)", flush=True)

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(one, left))
    return True


if __name__ == "__main__":
    raise SystemExit(main())
