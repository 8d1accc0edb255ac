"""Exit codes of `pibls check`: 2 if conditions are missing, 0 if the problem is complete."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pibls.cli.app import app

TEMPLATES = sorted((Path(__file__).parent.parent / "src" / "pibls" / "io" / "templates").glob("*.toml"))


def run_check(folder: Path, text: str, *options: str) -> tuple[int, str]:
    (folder / "problem.toml").write_text(text)
    result = CliRunner().invoke(app, ["check", str(folder / "problem.toml"), *options])
    return result.exit_code, result.output


def problem(equations: list[str], domain: str, time: str, conditions: list[str]) -> str:
    unknowns = ["u", "v"] if any("v" in e for e in equations) else ["u"]
    lines = [
        f"unknowns = {json.dumps(unknowns)}",
        f"equations = {json.dumps(equations)}",
        f"domain = {{ {domain} }}",
    ]
    lines += [f"time = {{ {time} }}"] if time else []
    return "\n".join([*lines, f"conditions = [{', '.join(f'{{ {c} }}' for c in conditions)}]"])


BOUNDARY = 'dirichlet = "u", value = 0'
INITIAL = 'initial = "u", value = "sin(pi*x)"'
INITIAL_RATE = 'initial = "u_t", value = 0'


@pytest.mark.parametrize(
    ("equations", "domain", "time", "conditions", "missing"),
    [
        (["u_t = u_xx"], "x = [0, 1]", "t = [0, 1]", [BOUNDARY], "u(x, t) at t = 0"),
        (["u_tt = u_xx"], "x = [0, 1]", "t = [0, 1]", [BOUNDARY, INITIAL], "Derivative(u(x, t), t) at t = 0"),
        (["u_t = u_xx"], "x = [0, 1]", "t = [0, 1]", [BOUNDARY + ', on = "x = 0"', INITIAL], "where x = 1"),
        (["u_t + u_x = 0"], "x = [0, 1]", "t = [0, 1]", [INITIAL], "where x = 0"),
        (["u_xx + u_yy = 1"], "x = [0, 1], y = [0, 1]", "", [BOUNDARY + ', on = "x = 0"'], "where x = 1"),
        (["u_tt = -u"], "t = [0, 1]", "", ['initial = "u", value = 1'], "1 of 2 conditions"),
        (["u_xx = 1"], "x = [0, 1]", "", [BOUNDARY + ', on = "x = 0"'], "1 of 2 conditions"),
        (["u_t = v", "v_t = -u"], "t = [0, 1]", "", ['initial = "u", value = 1'], "1 of 2 conditions"),
    ],
)
def test_missing_conditions_exit_with_code_2(
    tmp_path: Path, equations: list[str], domain: str, time: str, conditions: list[str], missing: str
) -> None:
    text = problem(equations, domain, time, conditions)
    code, output = run_check(tmp_path, text)
    assert code == 2
    assert "underdetermined, missing" in output
    assert missing in output.replace("\n", " ")
    code, output = run_check(tmp_path, text, "--json")
    assert code == 2
    assert any(missing in m for m in json.loads(output.splitlines()[0])["missing_conditions"])


@pytest.mark.parametrize(
    ("equations", "domain", "time", "conditions"),
    [
        (["u_t = u_xx"], "x = [0, 1]", "t = [0, 1]", [BOUNDARY, INITIAL]),
        (["u_tt = u_xx"], "x = [0, 1]", "t = [0, 1]", [BOUNDARY, INITIAL, INITIAL_RATE]),
        (["u_t + u_x = 0"], "x = [0, 1]", "t = [0, 1]", [INITIAL, BOUNDARY + ', on = "x = 0"']),
        (["u_t = u_xx"], "x = [0, 1]", "t = [0, 1]", [INITIAL, 'periodic = "u", coordinate = "x"']),
        (["u_rr + u_r/r = -4"], "r = [0, 1]", "", [BOUNDARY + ', on = "r = 1"']),
        (["u_xx = 1"], "x = [0, 1]", "", [BOUNDARY]),
        (["u_x = u"], "x = [0, 1]", "", ['equation = "u = 1", on = { x = 0.5 }']),
        (["u_t = v", "v = 2*u"], "t = [0, 1]", "", ['initial = "u", value = 1']),
    ],
)
def test_complete_problems_exit_with_code_0(
    tmp_path: Path, equations: list[str], domain: str, time: str, conditions: list[str]
) -> None:
    code, output = run_check(tmp_path, problem(equations, domain, time, conditions))
    assert (code, "underdetermined" in output) == (0, False), output


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.stem)
def test_templates_are_complete(path: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 0, result.output
