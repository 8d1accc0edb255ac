"""The mutants of `make mutants`: each applies, and changes the program."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.mutants import differing, functions
from benchmarks.mutations import LINES, THRESHOLDS, mutants, thresholds

import pibls
import pibls.adaptive.thresholds
import pibls.analysis.thresholds

SOURCE = Path(pibls.__file__).parent


def test_every_mutant_differs_from_the_source() -> None:
    found, not_found = mutants(SOURCE)
    assert len(found) >= 40
    assert len(not_found) <= 5, f"renew these in benchmarks/mutations.py: {not_found}"
    assert len(found) + len(not_found) > len(LINES)
    parsed = cache(lambda text: ast.dump(ast.parse(text)))
    for mutant in (*found[: len(LINES)], *found[len(LINES) :: 9]):
        source = (SOURCE / mutant.file).read_text(encoding="utf-8")
        assert parsed(mutant.applied(source)) != parsed(source), mutant.name


def test_every_threshold_field_has_mutants() -> None:
    text = "\n".join(
        [
            '"""Größen."""',
            "class Thresholds:",
            "    soft: float = 1e-7",
            '    """why"""',
            "    widths: tuple[int, ...] = (4, 80)",
            "",
        ]
    )
    found = list(thresholds("adaptive/thresholds.py", text))
    assert [m.name for m in found] == [
        *("soft = 0.0001", "soft = 1e-10"),
        *("widths[0] = 126", "widths[0] = 1", "widths[1] = 2530", "widths[1] = 3"),
    ]
    assert "soft: float = 0.0001\n" in found[0].applied(text)


def test_threshold_mutant_changes_one_value() -> None:
    found, _ = mutants(SOURCE)
    for mutant in [m for m in found if m.file.startswith(THRESHOLDS)][::40]:
        ((thing, field, value),) = differing(mutant, (SOURCE / mutant.file).read_text(encoding="utf-8"))
        assert value != getattr(thing, field)
        assert type(value) is type(getattr(thing, field))


def test_every_changed_line_is_in_a_function() -> None:
    """So that its code can be replaced in a process that has imported everything."""
    for mutant in [m for m in mutants(SOURCE)[0] if not m.file.startswith(THRESHOLDS)]:
        source = (SOURCE / mutant.file).read_text(encoding="utf-8")
        old, new = (
            functions(compile(text, mutant.file, "exec")) for text in (source, mutant.applied(source))
        )
        assert [name for name in new if new[name] != old[name]], mutant.name


def test_no_threshold_is_read_at_import() -> None:
    """Such a value would not change with the mutant."""
    names = {
        name
        for module in (pibls.adaptive.thresholds, pibls.analysis.thresholds)
        for name in vars(module)
        if name.isupper()
    }
    for path in sorted(SOURCE.rglob("*.py")):
        if "thresholds" not in str(path):
            nodes = list(_import_time_nodes(ast.parse(path.read_text(encoding="utf-8"))))
            read = [n.value.id for e in nodes for n in ast.walk(e) if _is_read(n, names)]  # type: ignore[attr-defined]
            assert not read, f"{path.name} reads {read}"


def _is_read(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names


def _import_time_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes executed at import: module and class statements, and default values."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.Lambda)):
            yield from (*child.args.defaults, *(d for d in child.args.kw_defaults if d is not None))
        elif isinstance(child, ast.ClassDef):
            yield from _import_time_nodes(child)
        elif not any(isinstance(n, ast.Lambda) for n in ast.walk(child)):
            yield child
