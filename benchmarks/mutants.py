"""make mutants: change one thing of the core at a time, and see whether the quick tests notice.

    python -m benchmarks.mutants [--only WORDS] [--lines] [--least 0.9] [--seconds 1e9] [--again]

Everything is imported and every test collected once, and nothing is solved. Then a first fork runs all quick
tests and writes down which of them read which threshold or enter which changed function (.mutants/readers).
For each change one more fork is made: there the threshold has its new value, or the function its new code, in
memory, and those tests that read it are run, the quick and the watchful first, until one fails. A change of
what no quick test reads is not noticed. Processes that a test starts see the old sources: that can only hide
that a change was noticed.

Each result is a file of its own in .mutants/, so a run can be interrupted and resumed. A change that was
noticed stays so while the changed file is the same; one that was not is tried again when tests have changed.
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
"""Seconds of the processor, and times the usual, for one test: a change that needs more hangs."""
MEMORY = 5 << 30
"""Bytes that a fork may have: a change that asks for more is noticed by that."""
_ENTERED = "_pibls_entered"


# -- what a change is in memory --


def module_of(file: str) -> ModuleType:
    parts = ("pibls", *Path(file).with_suffix("").parts)
    return importlib.import_module(".".join(p for p in parts if p != "__init__"))


def instances(of: str) -> Iterator[tuple[str, Any]]:
    """The objects in a module of thresholds, by their names."""
    for name, value in vars(module_of(of)).items():
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            yield name, value


def apply(mutant: Mutant) -> None:
    """Change it in this process: values of thresholds, or the code of the functions that differ."""
    path = SOURCES / mutant.file
    source = path.read_text(encoding="utf-8")
    if mutant.file.startswith(THRESHOLDS):
        for thing, field, value in differing(mutant, source):
            object.__setattr__(thing, field, value)
        return
    changed = functions(compile(mutant.applied(source), str(path), "exec"))
    swapped(path, {q: c for q, c in changed.items() if c != functions(compile(source, str(path), "exec"))[q]})


def differing(mutant: Mutant, source: str) -> Iterator[tuple[Any, str, Any]]:
    """The object, its field and the new value of a change to a threshold."""
    module = ModuleType("pibls_mutant")
    sys.modules[module.__name__] = module  # where dataclasses look up their annotations
    exec(compile(mutant.applied(source), mutant.file, "exec"), module.__dict__)
    for name, thing in instances(mutant.file):
        for field in dataclasses.fields(thing):
            value = getattr(vars(module)[name], field.name)
            if value != getattr(thing, field.name):
                yield thing, field.name, value


def functions(code: CodeType) -> dict[str, CodeType]:
    """The outermost functions and methods in the code of a module, by their qualified names."""
    found = {}
    for part in (c for c in code.co_consts if isinstance(c, CodeType)):
        if part.co_flags & 0x2:  # has fast locals: a function; the body of a class has none
            found[part.co_qualname] = part
        else:
            found |= functions(part)
    return found


def swapped(path: Path, codes: dict[str, CodeType]) -> int:
    """Give the functions of this file their new code; how many there were."""
    count = 0
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == str(path):
            code = codes.get(thing.__code__.co_qualname)
            if code is not None and code.co_freevars == thing.__code__.co_freevars:
                thing.__code__ = code
                count += 1
    return count


def read_by(mutant: Mutant) -> str:
    """What a test must read or enter to notice a change."""
    source = (SOURCES / mutant.file).read_text(encoding="utf-8")
    if mutant.file.startswith(THRESHOLDS):
        return ", ".join(f"{type(thing).__name__}.{field}" for thing, field, _ in differing(mutant, source))
    return f"{mutant.file}: {', '.join(_entered(mutant, source))}"


def _entered(mutant: Mutant, source: str) -> list[str]:
    path = str(SOURCES / mutant.file)
    old, new = (functions(compile(text, path, "exec")) for text in (source, mutant.applied(source)))
    return [name for name, code in new.items() if code != old[name]]


# -- who reads what --


class Recorder:
    """Which thresholds were read, and which of the changed functions were entered, since last asked."""

    def __init__(self, wanted: list[Mutant]) -> None:
        self.seen: set[str] = set()
        setattr(builtins, _ENTERED, self.seen.add)
        for file in sorted({m.file for m in wanted}):
            if file.startswith(THRESHOLDS):
                for _, thing in instances(file):
                    self._watch_fields(type(thing))
            else:
                self._watch_functions(file, [m for m in wanted if m.file == file])

    def taken(self) -> list[str]:
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
            for name in _entered(mutant, source):
                code = functions(compile(source, str(path), "exec"))[name]
                codes[name] = _announced(lines, name, code, f"{file}: {name}", str(path))
        swapped(path, codes)


def _announced(lines: list[str], name: str, code: CodeType, key: str, path: str) -> CodeType:
    """The code of a function that first says that it was entered."""
    tree = ast.parse("".join(lines))
    for node in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        if first == code.co_firstlineno and node.name == code.co_name:
            node.body.insert(0, ast.parse(f"{_ENTERED}({key!r})").body[0])
    return functions(compile(ast.fix_missing_locations(tree), path, "exec"))[name]


def recorded(recorder: Recorder, items: list[pytest.Item]) -> dict[str, Any]:
    """{test: (its seconds, what it reads, whether it passes)}"""
    found = {}
    for item in items:
        began = used()
        good = passed(item)
        found[item.nodeid] = (round(used() - began, 3), recorder.taken(), good)
    return found


# -- tests in forks --


def forked(work: Callable[[], Any]) -> Any:
    """What ``work`` returns in a fork of this process; None where it died."""
    reads, writes = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reads)
        try:
            told = json.dumps(work())
        except BaseException as error:
            told = json.dumps({"failure": repr(error)})
        with os.fdopen(writes, "w") as pipe:
            pipe.write(told)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told) if told else None


def passed(item: pytest.Item, usual: float = 30.0) -> bool:
    """Whether a test passes (or is left out) here and now."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the fork, which tells of a test that hangs
    signal.setitimer(signal.ITIMER_PROF, HANGS * (1.0 + usual))
    reports = runtestprotocol(item, nextitem=None, log=False)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return not any(report.failed for report in reports)


def used() -> float:
    """Seconds of the processor, those of processes that ended too."""
    return sum(os.times()[:4])


class Machine:
    """Runs instead of pytest's own loop, once everything is collected."""

    def __init__(self, wanted: list[Mutant], every: list[Mutant], seconds: float, again: bool) -> None:
        self.wanted, self.every, self.seconds, self.again = wanted, every, seconds, again
        self.tests = digest(*(p.read_text("utf-8") for p in sorted((ROOT / "tests").rglob("*.py"))))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        import pibls

        for found in pkgutil.walk_packages(pibls.__path__, "pibls.", onerror=lambda _: None):
            if not found.name.endswith("__main__"):
                try:
                    importlib.import_module(found.name)
                except ImportError:  # of something that need not be installed
                    continue
        items = {item.nodeid: item for item in session.items}
        readers = self.readers(items)
        for mutant in self.wanted:
            if known(mutant, self.tests) is None:
                result = self.tried(mutant, items, readers)
                keep(mutant, result, self.tests)
                said = f"{result['by'] or 'NOT NOTICED'} ({result['seconds']} s, {result['ran']} tests)"
                print(f"{mutant.name:40} {said}", flush=True)
        return True

    def readers(self, items: dict[str, pytest.Item]) -> dict[str, Any]:
        """{test: (its seconds, what it reads)}, kept where its file is the same and no key is new."""
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
            found = forked(partial(recorded, recorder, mine))
            if found is None or "failure" in found:
                raise SystemExit(f"The tests in {file} do not run: {found}")
            for name in [n for n, t in found.items() if not t[2]]:
                print(f"fails without any change, and is left out: {name}", flush=True)
                del found[name]
            kept[file] = {"stamp": stamps[file], "looked": sorted(keys), "tests": found}
            part = READERS.with_suffix(".part")
            part.write_text(json.dumps(kept), encoding="utf-8")
            part.replace(READERS)
            print(f"looked at {file}: {sum(t[0] for t in found.values()):.1f} s", flush=True)
        return {name: t for file in files for name, t in kept[file]["tests"].items() if name in items}

    def tried(self, mutant: Mutant, items: dict[str, pytest.Item], readers: dict[str, Any]) -> dict[str, Any]:
        key = read_by(mutant)
        watchful = counted()

        def rank(name: str) -> float:
            return float((readers[name][0] + 0.005) / (1.0 + 5.0 * watchful.get(name, 0)))

        names = sorted((n for n, (_, read, _) in readers.items() if key in read), key=rank)
        began = time.perf_counter()

        def run() -> dict[str, Any]:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            apply(mutant)
            spent = 0.0
            for count, name in enumerate(names):
                at.write_text(name)
                if not passed(items[name], readers[name][0]):
                    return {"by": name, "ran": count + 1}
                spent += readers[name][0]
                if spent > self.seconds:
                    return {"by": "", "ran": count + 1}
            return {"by": "", "ran": len(names)}

        at = STORE / "at"
        said = forked(run) if names else {"by": "", "ran": 0}
        if said is None:
            said = {"by": f"{at.read_text()} (hangs or dies)", "ran": len(names)}
        elif "failure" in said:
            raise SystemExit(f"{mutant.name}: {said['failure']}")
        seconds = round(time.perf_counter() - began, 1)
        return {"name": mutant.name, "file": mutant.file, "key": key, "noticed": bool(said["by"]), **said,
                "readers": len(names), "seconds": seconds}  # fmt: skip


# -- what is kept --


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def key_of(mutant: Mutant) -> str:
    source = (SOURCES / mutant.file).read_text(encoding="utf-8")
    if mutant.file.startswith(THRESHOLDS):  # what stands beside it there is no part of it
        return digest(mutant.file, source[max(mutant.start - 100, 0) : mutant.start], mutant.text)
    return digest(mutant.file, mutant.applied(source))


def known(mutant: Mutant, tests: str) -> dict[str, Any] | None:
    """The result of an earlier run, where it still holds."""
    try:
        found: dict[str, Any] = json.loads((STORE / f"{key_of(mutant)}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    tried = found["tests"] == tests and found["ran"] == found["readers"]
    return found if found["noticed"] or tried else None


def keep(mutant: Mutant, result: dict[str, Any], tests: str) -> None:
    path = STORE / f"{key_of(mutant)}.json"
    part = path.with_suffix(".part")
    part.write_text(json.dumps({**result, "tests": tests}, indent=1), encoding="utf-8")
    part.replace(path)


def counted() -> dict[str, int]:
    """How many changes each test was the first to notice."""
    found: dict[str, int] = {}
    for path in STORE.glob("*.json"):
        by = json.loads(path.read_text(encoding="utf-8"))["by"]
        found[by] = found.get(by, 0) + 1
    return found


def report(wanted: list[Mutant], lost: list[str], tests: str) -> tuple[str, float]:
    """The table as text, and the share that was noticed."""
    results = [known(m, tests) for m in wanted]
    done = [r for r in results if r is not None]
    noticed = [r for r in done if r["noticed"]]
    share = len(noticed) / len(done) if done else 1.0
    left = f"{len(wanted) - len(done)} not tried"
    lines = [f"{len(noticed)} of {len(done)} changes were noticed ({share:.0%}); {left}"]
    missed = [r for r in done if not r["noticed"]]
    lines += [f"  not noticed: {r['key']}: {r['name']} ({r['readers']} tests read it)" for r in missed]
    lines += [f"  not found in the source any more: {name}" for name in lost]
    return "\n".join(lines), share


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="only changes whose name or file contains this")
    parser.add_argument("--lines", action="store_true", help="only lines of the core, no thresholds")
    parser.add_argument("--select", default="not slow and not long", help="pytest -m")
    parser.add_argument("--tests", nargs="*", default=[], help="only these files of tests")
    parser.add_argument("--seconds", type=float, default=1e9, help="of tests for each change, at most")
    parser.add_argument("--again", action="store_true", help="look anew who reads what")
    parser.add_argument("--least", type=float, default=0.0, help="fail if a smaller share was noticed")
    given = parser.parse_args()
    STORE.mkdir(exist_ok=True)
    every, lost = mutants(SOURCES)
    wanted = [m for m in every if given.only in m.name or given.only in m.file]
    if given.lines:
        wanted = [m for m in wanted if not m.file.startswith(THRESHOLDS)]
    os.chdir(ROOT)
    machine = Machine(wanted, every, given.seconds, given.again)
    # Whoever tests this command looks at every threshold, and would notice all of them.
    args = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no", "-m", given.select]
    args += ["--ignore=tests/test_mutants.py", *given.tests]
    if pytest.main(args, plugins=[machine]) not in (0, 5):
        return 2
    text, share = report(wanted, lost, machine.tests)
    print(text)
    return int(share < given.least)


if __name__ == "__main__":
    raise SystemExit(main())
