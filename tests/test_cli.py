"""The command line: output for people, JSON for scripts, and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command needs typer: pip install 'pibls[cli]'")

from typer.testing import CliRunner

import pibls
from pibls.cli.app import app

TEMPLATES = "advection beam burgers heat helmholtz ode poisson reaction-diffusion system wave".split()  # noqa: SIM905


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


@pytest.fixture
def poisson(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(run("new", "poisson")[1])
    return path


@pytest.mark.parametrize("kind", TEMPLATES)
def test_every_template_passes_check(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(run("new", kind)[1])
    code, text = run("check", str(path))
    assert code == 0
    assert "unknowns" in text


def test_new_lists_the_templates() -> None:
    code, text = run("new")
    assert code == 0
    assert [line.split()[0] for line in text.splitlines()] == TEMPLATES


def test_solve_writes_solution_and_picture(poisson: Path, tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    code, text = run("solve", str(poisson), "--picture", str(picture))
    assert code == 0
    assert "converged: yes" in text
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert pibls.load(tmp_path / "problem.pibls").converged


def test_command_and_python_give_equal_results(poisson: Path, tmp_path: Path) -> None:
    from pibls.io import read_problem

    file = read_problem(poisson)
    solution = pibls.solve(file.problem, **file.settings)
    run("solve", str(poisson), "--quiet")
    assert pibls.load(tmp_path / "problem.pibls")(0.3, 0.4) == solution(0.3, 0.4)


def test_json_output_is_one_line(poisson: Path) -> None:
    code, text = run("solve", str(poisson), "--json", "--param", "strength=2")
    report = json.loads(text)
    assert code == 0
    assert report["status"] == "TOLERANCE"
    assert report["error"]["max"] < 1e-6


def test_check_reports_the_parsed_problem(poisson: Path, tmp_path: Path) -> None:
    sketch = tmp_path / "domain.svg"
    code, text = run("check", str(poisson), "--json", "--picture", str(sketch))
    report = json.loads(text)
    assert code == 0
    assert report["linear"]
    assert report["orders"] == {"u": 2}
    assert report["equations"] == ["u_xx + u_yy = -strength*sin(pi*x)*cos(y)"]
    assert report["parameters"] == {"strength": 5.0}
    assert [(c["equation"], c["where"]) for c in report["conditions"]] == [
        ("u = 0", "on the boundary where x = 0 or x = 1"),
        ("dn(u) = 0", "on the boundary where y = 0"),
        ("u = sin(pi*x)", "on the rest of the boundary"),
    ]
    assert sketch.read_text().lstrip().startswith("<svg")


def test_check_reports_sides_without_condition(poisson: Path) -> None:
    text = poisson.read_text()
    poisson.write_text(text[: text.rindex("[[conditions]]")] + text[text.index("[solve]") :])
    code, output = run("check", str(poisson))
    assert code == 2
    assert "where y = 1.5708" in output
    assert "underdetermined, missing a condition where y = 1.5708" in output


@pytest.mark.parametrize("name", ["a.bmp", "picture", "nowhere/a.png"])
def test_invalid_picture_path_is_rejected_before_solving(poisson: Path, tmp_path: Path, name: str) -> None:
    code, text = run("solve", str(poisson), "--picture", str(tmp_path / name))
    assert code == 2
    assert "--picture: expected" in text
    assert not (tmp_path / "problem.pibls").exists()


def test_values_are_shown_with_full_precision(poisson: Path, tmp_path: Path) -> None:
    run("solve", str(poisson), "--quiet")
    saved = tmp_path / "problem.pibls"
    code, text = run("show", str(saved), "--at", "x=0.5,y=0.25", "--at", "x=3,y=0")
    inside, outside = text.splitlines()
    assert code == 0
    assert float(inside.removeprefix("x=0.5,y=0.25: u = ")) == float(pibls.load(saved)(0.5, 0.25))
    assert outside == "x=3,y=0: u = nan (outside the domain)"


def test_parameters_accept_expressions(poisson: Path) -> None:
    _, third = run("solve", str(poisson), "--json", "-p", "strength=1/3")
    assert json.loads(third)["converged"]
    code, text = run("check", str(poisson), "-p", "strength=__import__")
    assert code == 2
    assert "a name of at most" in text or "expected" in text


def test_errors_are_also_json(poisson: Path) -> None:
    for arguments in (["solve", "nowhere.toml"], ["check", "nowhere.toml"], ["show", "nowhere.pibls"],
                  ["case", "TC-12"], ["sweep", str(poisson), "-p", "strength=x"]):  # fmt: skip
        result = CliRunner().invoke(app, [*arguments, "--json"])
        assert result.exit_code == 2
        assert result.stderr == f"error: {json.loads(result.stdout)['error']}\n"


def test_all_outputs_of_a_file_are_written(poisson: Path, tmp_path: Path) -> None:
    text = poisson.read_text()
    text = text[: text.index("[output]")] if "[output]" in text else text
    poisson.write_text(text + '[output]\npicture = "a.png"\ntable = "a.csv"\nvtk = "a.vtu"\n')
    code, output = run("solve", str(poisson), "--json")
    names = [Path(p).name for p in json.loads(output)["written"]]
    assert code == 0
    assert names == ["problem.pibls", "a.png", "a.csv", "a.vti"]  # a box is a regular grid
    assert all((tmp_path / n).stat().st_size > 0 for n in names)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('picture = "a.gif"', "output.picture: expected a still image"),
        ('picture = "b/a.png"', "output.picture: expected an existing folder"),
        ('table = "b/a.csv"', "output.table: expected an existing folder"),
    ],
)
def test_invalid_outputs_are_rejected_before_solving(
    poisson: Path, tmp_path: Path, line: str, message: str
) -> None:
    text = poisson.read_text()
    text = text[: text.index("[output]")] if "[output]" in text else text
    poisson.write_text(f"{text}[output]\n{line}\n")
    code, output = run("solve", str(poisson))
    assert code == 2
    assert message in output
    assert not (tmp_path / "problem.pibls").exists()


def test_failing_table_does_not_affect_other_outputs(poisson: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_disk_full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    text = poisson.read_text()
    text = text[: text.index("[output]")] if "[output]" in text else text
    poisson.write_text(text + '[output]\ntable = "a.csv"\n')
    monkeypatch.setattr("pibls.exchange.to_csv", raise_disk_full)
    result = CliRunner().invoke(app, ["solve", str(poisson), "--json"])
    report = json.loads(result.stdout)
    assert result.exit_code == 2
    assert report["converged"]
    assert [Path(p).name for p in report["written"]] == ["problem.pibls"]
    assert "No space left on device" in report["error"]
    assert "a.csv: No space left on device" in result.stderr


def test_picture_of_four_dimensional_domain_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(
        "equations = ['laplacian(u) = 1']\n"
        "domain = { a = [0, 1], b = [0, 1], c = [0, 1], d = [0, 1] }\n"
        "conditions = [{ dirichlet = 'u', value = 0 }]\n"
    )
    code, text = run("check", str(path), "--picture", str(tmp_path / "p.svg"))
    assert code == 2
    assert "at most three space coordinates" in text
    assert not (tmp_path / "p.svg").exists()


def test_duplicate_parameter_is_rejected(poisson: Path) -> None:
    code, text = run("sweep", str(poisson), "-p", "strength=1", "-p", "strength=2")
    assert code == 2
    assert "each parameter once" in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["cases"], ["new", "heat"], ["cases", "--json"]])
def test_closed_pipe_and_full_disk(arguments: list[str]) -> None:
    command = [sys.executable, "-c", "from pibls.cli import main; main()", *arguments]
    with open("/dev/full", "wb") as device:
        completed = subprocess.run(command, stdout=device, stderr=subprocess.PIPE, text=True, timeout=120)
    assert completed.returncode == 2
    assert completed.stderr == "error: standard output: No space left on device\n"
    reading, writing = os.pipe()
    os.close(reading)
    completed = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(writing)
    assert completed.returncode == -signal.SIGPIPE
    assert completed.stderr == ""


def test_version() -> None:
    assert run("--version") == (0, f"pibls {pibls.__version__}\n")


def test_check_prints_markup_literally(poisson: Path) -> None:
    title = "[bold]a[/bold] title"
    poisson.write_text(poisson.read_text().replace("Poisson's equation on a rectangle", title))
    code, text = run("check", str(poisson))
    assert code == 0
    assert title in text


def test_unconverged_solution_exits_with_code_1_and_is_written(poisson: Path, tmp_path: Path) -> None:
    code, text = run("solve", str(poisson), "--tol", "1e-13", "--max-nodes", "16")
    assert code == 1
    assert "converged: no" in text
    assert (tmp_path / "problem.pibls").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["slove"], "unknown command: slove. Did you mean solve?"),
        (["new", "poison"], "Did you mean poisson?"),
        (["case", "TC-50"], "Did you mean TC-5?"),
        (["solve", "nowhere.toml"], "nowhere.toml: expected a file that can be read"),
        (["show", "nowhere.pibls"], "nowhere.pibls"),
    ],
)
def test_invalid_input_exits_with_code_2(arguments: list[str], message: str) -> None:
    code, text = run(*arguments)
    assert code == 2
    assert message in text
    assert "Traceback" not in text


def test_error_in_file_is_located(poisson: Path) -> None:
    poisson.write_text(poisson.read_text().replace("laplacian(u)", "laplacan(u)"))
    code, text = run("solve", str(poisson))
    assert code == 2
    assert "problem.toml" in text
    assert "laplacian" in text
    assert "^" in text


def test_show_prints_values_at_points(poisson: Path, tmp_path: Path) -> None:
    run("solve", str(poisson), "--quiet")
    saved = str(tmp_path / "problem.pibls")
    code, text = run("show", saved, "--json", "--at", "x=0.5,y=0.3")
    assert code == 0
    value = json.loads(text)["values"][0]["values"]["u"]
    assert value == pibls.load(saved)(0.5, 0.3)
    code, text = run("show", saved, "--at", "x=0.5")
    assert code == 2
    assert "a value for each of x, y" in text


def test_sweep_reuses_saved_solutions(poisson: Path, tmp_path: Path) -> None:
    arguments = ["sweep", str(poisson), "--param", "strength=1:2:2", "--out", str(tmp_path / "all"), "--json",
             "--at", "x=0.5,y=0.5"]  # fmt: skip
    code, text = run(*arguments)
    assert code == 0
    rows = [json.loads(line) for line in text.splitlines()]
    assert [r["parameters"]["strength"] for r in rows] == [1.0, 2.0]
    repeated = [json.loads(line) for line in run(*arguments)[1].splitlines()]
    assert [r["seconds"] for r in repeated] == [r["seconds"] for r in rows]  # loaded, not solved again


def test_cases_command() -> None:
    assert len(run("cases")[1].splitlines()) == 11
    code, text = run("case", "TC-2", "--json")
    assert code == 0
    assert json.loads(text)["true_error"] < 1e-10


def test_help_shows_examples() -> None:
    assert "pibls new poisson > problem.toml" in run("--help")[1]
    assert "--tol 1e-8" in run("solve", "--help")[1]


SIGNALLED = """
import signal
import pibls
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore SIGINT
solve, calls = pibls.solve, []

def send_signal(progress):
    calls.append(progress)
    if len(calls) == 2:
        signal.raise_signal(getattr(signal, NAME))

pibls.solve = lambda *given, **more: solve(*given, **{**more, "callback": send_signal})
from pibls.cli import main
main()
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_signal_saves_best_solution(poisson: Path, tmp_path: Path, name: str, code: int) -> None:
    completed = subprocess.run(
        [sys.executable, "-c", f"NAME = {name!r}\n" + SIGNALLED, "solve", str(poisson), "--tol", "1e-13"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert completed.returncode == code, completed.stderr
    assert "interrupted: the best solution so far was saved" in completed.stderr
    assert "written" in completed.stdout
    loaded = pibls.load(tmp_path / "problem.pibls")
    assert loaded.status is pibls.Status.INTERRUPTED


def test_problem_file_of_the_readme(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    path = tmp_path / "own.toml"
    path.write_text(readme.split("```toml\n")[1].split("```")[0])
    code, text = run("solve", str(path), "--json")
    assert code == 0
    assert json.loads(text)["converged"]
    assert float(pibls.load(tmp_path / "own.pibls")(0.5, 0.5)) == pytest.approx(1.0, abs=1e-10)
