"""Mutation testing (make mutants): change one line or threshold at a time and run the quick tests.

    python -m benchmarks.mutants [--only WORDS] [--lines] [--least 0.9] [--seconds 1e9] [--again]

All modules are imported and all tests collected once. A first fork runs the quick tests and records which of
them read which threshold or enter which function (.mutants/readers). Each mutant is then tested in its own
fork: the threshold has its new value, or the function its new code, in memory, and the tests that read it are
run, the fast ones and those that detected other mutants first, until one fails. A mutant that no quick test
reads survives. Processes started by a test see the original sources, so mutants may survive there.

Each result is stored in a file in .mutants/, so a run can be interrupted and resumed. The result of a
detected mutant is valid while the changed file is the same; a surviving mutant is tested again when the tests
change.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import dataclasses
import gc
import hashlib
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from benchmarks.mutations import THRESHOLDS, Mutant, mutants

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "pibls"
STORE = ROOT / ".mutants"
READERS = STORE / "readers"
HANGS = 20.0
"""CPU seconds for one test, and factor of its usual time, above which it counts as hanging."""
MEMORY = 5 << 30
"""Memory limit of a fork in bytes; a mutant that needs more is detected."""
_ENTERED = "_pibls_entered"


# -- applying a mutant in memory --


def module_of(file: str) -> ModuleType:
    parts = ("pibls", *Path(file).with_suffix("").parts)
    return importlib.import_module(".".join(p for p in parts if p != "__init__"))


def instances(of: str) -> Iterator[tuple[str, Any]]:
    """Yield the threshold objects of a module with their names."""
    for name, value in vars(module_of(of)).items():
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            yield name, value


def apply(mutant: Mutant) -> None:
    """Apply a mutant in this process: set threshold values, or replace the code of functions."""
    path = SOURCES / mutant.file
    source = path.read_text(encoding="utf-8")
    if mutant.file.startswith(THRESHOLDS):
        for thing, field, value in differing(mutant, source):
            object.__setattr__(thing, field, value)
        return
    changed = functions(compile(mutant.applied(source), str(path), "exec"))
    replace_code(
        path, {q: c for q, c in changed.items() if c != functions(compile(source, str(path), "exec"))[q]}
    )


def differing(mutant: Mutant, source: str) -> Iterator[tuple[Any, str, Any]]:
    """Yield object, field and new value of a mutated threshold."""
    module = ModuleType("pibls_mutant")
    sys.modules[module.__name__] = module  # dataclasses look up annotations there
    exec(compile(mutant.applied(source), mutant.file, "exec"), module.__dict__)
    for name, thing in instances(mutant.file):
        for field in dataclasses.fields(thing):
            value = getattr(vars(module)[name], field.name)
            if value != getattr(thing, field.name):
                yield thing, field.name, value


def functions(code: CodeType) -> dict[str, CodeType]:
    """Return the outermost functions and methods in the code of a module by qualified name."""
    found = {}
    for part in (c for c in code.co_consts if isinstance(c, CodeType)):
        if part.co_flags & 0x2:  # CO_NEWLOCALS: a function, not the body of a class
            found[part.co_qualname] = part
        else:
            found |= functions(part)
    return found


def replace_code(path: Path, codes: dict[str, CodeType]) -> int:
    """Replace the code of functions of this file; return their number."""
    count = 0
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == str(path):
            code = codes.get(thing.__code__.co_qualname)
            if code is not None and code.co_freevars == thing.__code__.co_freevars:
                thing.__code__ = code
                count += 1
    return count


def read_by(mutant: Mutant) -> str:
    """Return the key of what a test must read or enter to detect a mutant."""
    source = (SOURCES / mutant.file).read_text(encoding="utf-8")
    if mutant.file.startswith(THRESHOLDS):
        return ", ".join(f"{type(thing).__name__}.{field}" for thing, field, _ in differing(mutant, source))
    return f"{mutant.file}: {', '.join(_changed_functions(mutant, source))}"


def _changed_functions(mutant: Mutant, source: str) -> list[str]:
    path = str(SOURCES / mutant.file)
    old, new = (functions(compile(text, path, "exec")) for text in (source, mutant.applied(source)))
    return [name for name, code in new.items() if code != old[name]]


# -- which test reads what --


class Recorder:
    """Records the thresholds read and the functions entered since the last call of `take`."""

    def __init__(self, wanted: list[Mutant]) -> None:
        self.seen: set[str] = set()
        setattr(builtins, _ENTERED, self.seen.add)
        for file in sorted({m.file for m in wanted}):
            if file.startswith(THRESHOLDS):
                for _, thing in instances(file):
                    self._watch_fields(type(thing))
            else:
                self._watch_functions(file, [m for m in wanted if m.file == file])

    def take(self) -> list[str]:
        found = sorted(self.seen)
        self.seen.clear()
        return found

    def _watch_fields(self, kind: type) -> None:
        names = {f.name: f"{kind.__name__}.{f.name}" for f in dataclasses.fields(kind)}
        plain, seen = object.__getattribute__, self.seen

        def read(thing: Any, name: str) -> Any:
            if name in names:
                seen.add(names[name])
            return plain(thing, name)

        kind.__getattribute__ = read  # type: ignore[method-assign,assignment]

    def _watch_functions(self, file: str, changes: list[Mutant]) -> None:
        path = SOURCES / file
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines(keepends=True)
        codes = {}
        for mutant in changes:
            for name in _changed_functions(mutant, source):
                code = functions(compile(source, str(path), "exec"))[name]
                codes[name] = _with_call_record(lines, name, code, f"{file}: {name}", str(path))
        replace_code(path, codes)


def _with_call_record(lines: list[str], name: str, code: CodeType, key: str, path: str) -> CodeType:
    """Return the code of a function with a first statement that records its call."""
    tree = ast.parse("".join(lines))
    for node in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        if first == code.co_firstlineno and node.name == code.co_name:
            node.body.insert(0, ast.parse(f"{_ENTERED}({key!r})").body[0])
    return functions(compile(ast.fix_missing_locations(tree), path, "exec"))[name]


def record(recorder: Recorder, items: list[pytest.Item]) -> dict[str, Any]:
    """Run the tests; return {test: (seconds, keys read, passed)}."""
    found = {}
    for item in items:
        began = cpu_seconds()
        good = run_test(item)
        found[item.nodeid] = (round(cpu_seconds() - began, 3), recorder.take(), good)
    return found


# -- tests in forks --


def run_in_fork(work: Callable[[], Any]) -> Any:
    """Return the result of ``work`` in a fork of this process, or None if the fork died."""
    reads, writes = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reads)
        try:
            output = json.dumps(work())
        except BaseException as error:
            output = json.dumps({"failure": repr(error)})
        with os.fdopen(writes, "w") as pipe:
            pipe.write(output)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        output = pipe.read()
    os.waitpid(child, 0)
    return json.loads(output) if output else None


def run_test(item: pytest.Item, usual: float = 30.0) -> bool:
    """Run a test; return whether it passes or is skipped."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the fork if the test hangs
    signal.setitimer(signal.ITIMER_PROF, HANGS * (1.0 + usual))
    reports = runtestprotocol(item, nextitem=None, log=False)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return not any(report.failed for report in reports)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its finished children."""
    return sum(os.times()[:4])


class MutantPlugin:
    """Pytest plugin that replaces the test loop after collection."""

    def __init__(self, wanted: list[Mutant], every: list[Mutant], seconds: float, again: bool) -> None:
        self.wanted, self.every, self.seconds, self.again = wanted, every, seconds, again
        self.tests = digest(*(p.read_text("utf-8") for p in sorted((ROOT / "tests").rglob("*.py"))))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        import pibls

        for found in pkgutil.walk_packages(pibls.__path__, "pibls.", onerror=lambda _: None):
            if not found.name.endswith("__main__"):
                try:
                    importlib.import_module(found.name)
                except ImportError:  # optional dependency
                    continue
        items = {item.nodeid: item for item in session.items}
        readers = self.readers(items)
        for mutant in self.wanted:
            if stored_result(mutant, self.tests) is None:
                result = self.test_mutant(mutant, items, readers)
                store_result(mutant, result, self.tests)
                outcome = f"{result['by'] or 'SURVIVED'} ({result['seconds']} s, {result['ran']} tests)"
                print(f"{mutant.name:40} {outcome}", flush=True)
        return True

    def readers(self, items: dict[str, pytest.Item]) -> dict[str, Any]:
        """Return {test: (seconds, keys read, passed)}; stored for unchanged files and known keys."""
        try:
            kept = {} if self.again else json.loads(READERS.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            kept = {}
        files = {name.partition("::")[0] for name in items}
        stamps = {f: digest((ROOT / f).read_text(encoding="utf-8")) for f in files}
        keys = {read_by(m) for m in self.every}
        recorder = None
        for file in sorted(files, key=lambda f: (not f.startswith("tests"), f)):
            if kept.get(file, {}).get("stamp") == stamps[file] and keys <= set(kept[file]["looked"]):
                continue
            recorder = recorder or Recorder(self.every)
            mine = [item for name, item in items.items() if name.startswith(f"{file}::")]
            found = run_in_fork(partial(record, recorder, mine))
            if found is None or "failure" in found:
                raise SystemExit(f"The tests in {file} do not run: {found}")
            for name in [n for n, t in found.items() if not t[2]]:
                print(f"fails without a mutant and is skipped: {name}", flush=True)
                del found[name]
            kept[file] = {"stamp": stamps[file], "looked": sorted(keys), "tests": found}
            part = READERS.with_suffix(".part")
            part.write_text(json.dumps(kept), encoding="utf-8")
            part.replace(READERS)
            print(f"recorded {file}: {sum(t[0] for t in found.values()):.1f} s", flush=True)
        return {name: t for file in files for name, t in kept[file]["tests"].items() if name in items}

    def test_mutant(
        self, mutant: Mutant, items: dict[str, pytest.Item], readers: dict[str, Any]
    ) -> dict[str, Any]:
        key = read_by(mutant)
        detected = detections()

        def rank(name: str) -> float:
            return float((readers[name][0] + 0.005) / (1.0 + 5.0 * detected.get(name, 0)))

        names = sorted((n for n, (_, read, _) in readers.items() if key in read), key=rank)
        began = time.perf_counter()

        def run() -> dict[str, Any]:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            apply(mutant)
            spent = 0.0
            for count, name in enumerate(names):
                at.write_text(name)
                if not run_test(items[name], readers[name][0]):
                    return {"by": name, "ran": count + 1}
                spent += readers[name][0]
                if spent > self.seconds:
                    return {"by": "", "ran": count + 1}
            return {"by": "", "ran": len(names)}

        at = STORE / "at"
        outcome = run_in_fork(run) if names else {"by": "", "ran": 0}
        if outcome is None:
            outcome = {"by": f"{at.read_text()} (hangs or dies)", "ran": len(names)}
        elif "failure" in outcome:
            raise SystemExit(f"{mutant.name}: {outcome['failure']}")
        seconds = round(time.perf_counter() - began, 1)
        return {
            "name": mutant.name,
            "file": mutant.file,
            "key": key,
            "noticed": bool(outcome["by"]),
            **outcome,
            "readers": len(names),
            "seconds": seconds,
        }


# -- stored results --


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def key_of(mutant: Mutant) -> str:
    source = (SOURCES / mutant.file).read_text(encoding="utf-8")
    if mutant.file.startswith(THRESHOLDS):  # other thresholds of the file do not matter
        return digest(mutant.file, source[max(mutant.start - 100, 0) : mutant.start], mutant.text)
    return digest(mutant.file, mutant.applied(source))


def stored_result(mutant: Mutant, tests: str) -> dict[str, Any] | None:
    """Return the stored result if it is still valid."""
    try:
        found: dict[str, Any] = json.loads((STORE / f"{key_of(mutant)}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_current = found["tests"] == tests and found["ran"] == found["readers"]
    return found if found["noticed"] or is_current else None


def store_result(mutant: Mutant, result: dict[str, Any], tests: str) -> None:
    path = STORE / f"{key_of(mutant)}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps({**result, "tests": tests}, indent=1), encoding="utf-8")
    part.replace(path)


def detections() -> dict[str, int]:
    """Return how many mutants each test was the first to detect."""
    found: dict[str, int] = {}
    for path in STORE.glob("*.json"):
        by = json.loads(path.read_text(encoding="utf-8"))["by"]
        found[by] = found.get(by, 0) + 1
    return found


def report(wanted: list[Mutant], lost: list[str], tests: str) -> tuple[str, float]:
    """Return the report and the fraction of detected mutants."""
    results = [stored_result(m, tests) for m in wanted]
    done = [r for r in results if r is not None]
    noticed = [r for r in done if r["noticed"]]
    share = len(noticed) / len(done) if done else 1.0
    left = f"{len(wanted) - len(done)} not tried"
    lines = [f"{len(noticed)} of {len(done)} mutants were detected ({share:.0%}); {left}"]
    missed = [r for r in done if not r["noticed"]]
    lines += [f"  survived: {r['key']}: {r['name']} ({r['readers']} tests read it)" for r in missed]
    lines += [f"  no longer found in the source: {name}" for name in lost]
    return "\n".join(lines), share


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="only mutants whose name or file contains this")
    parser.add_argument("--lines", action="store_true", help="only lines of code, no thresholds")
    parser.add_argument("--select", default="not slow and not long", help="marker expression (pytest -m)")
    parser.add_argument("--tests", nargs="*", default=[], help="only these test files")
    parser.add_argument("--seconds", type=float, default=1e9, help="largest test time per mutant")
    parser.add_argument("--again", action="store_true", help="record again which test reads what")
    parser.add_argument("--least", type=float, default=0.0, help="fail if a smaller fraction is detected")
    given = parser.parse_args()
    STORE.mkdir(exist_ok=True)
    every, lost = mutants(SOURCES)
    wanted = [m for m in every if given.only in m.name or given.only in m.file]
    if given.lines:
        wanted = [m for m in wanted if not m.file.startswith(THRESHOLDS)]
    os.chdir(ROOT)
    machine = MutantPlugin(wanted, every, given.seconds, given.again)
    # The tests of this command read every threshold and would detect all mutants.
    args = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no", "-m", given.select]
    args += ["--ignore=tests/test_mutants.py", *given.tests]
    if pytest.main(args, plugins=[machine]) not in (0, 5):
        return 2
    text, share = report(wanted, lost, machine.tests)
    print(text)
    return int(share < given.least)


if __name__ == "__main__":
    raise SystemExit(main())
