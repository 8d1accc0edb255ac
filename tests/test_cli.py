"""The command: what a person types, what they read, and what a script is told."""

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

KINDS = "advection beam burgers heat helmholtz ode poisson reaction-diffusion system wave".split()  # noqa: SIM905


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.output


@pytest.fixture
def poisson(tmp_path: Path) -> Path:
    path = tmp_path / "problem.toml"
    path.write_text(run("new", "poisson")[1])
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_every_starting_point_is_understood(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(run("new", kind)[1])
    code, text = run("check", str(path))
    assert code == 0
    assert "unknowns" in text


def test_new_lists_the_kinds() -> None:
    code, text = run("new")
    assert code == 0
    assert [line.split()[0] for line in text.splitlines()] == KINDS


def test_solve_writes_solution_and_picture(poisson: Path, tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    code, text = run("solve", str(poisson), "--picture", str(picture))
    assert code == 0
    assert "converged: yes" in text
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert pibls.load(tmp_path / "problem.pibls").converged


def test_the_command_and_python_give_the_same_numbers(poisson: Path, tmp_path: Path) -> None:
    from pibls.io import read_problem

    file = read_problem(poisson)
    solution = pibls.solve(file.problem, **file.settings)
    run("solve", str(poisson), "--quiet")
    assert pibls.load(tmp_path / "problem.pibls")(0.3, 0.4) == solution(0.3, 0.4)


def test_json_is_one_line_for_machines(poisson: Path) -> None:
    code, text = run("solve", str(poisson), "--json", "--param", "strength=2")
    found = json.loads(text)
    assert code == 0
    assert found["status"] == "TOLERANCE"
    assert found["error"]["max"] < 1e-6


def test_check_says_what_it_understood(poisson: Path, tmp_path: Path) -> None:
    sketch = tmp_path / "domain.svg"
    code, text = run("check", str(poisson), "--json", "--picture", str(sketch))
    found = json.loads(text)
    assert code == 0
    assert found["linear"]
    assert found["orders"] == {"u": 2}
    assert found["equations"] == ["u_xx + u_yy = -strength*sin(pi*x)*cos(y)"]
    assert found["parameters"] == {"strength": 5.0}
    assert [(c["equation"], c["where"]) for c in found["conditions"]] == [
        ("u = 0", "on the boundary where x = 0 or x = 1"),
        ("dn(u) = 0", "on the boundary where y = 0"),
        ("u = sin(pi*x)", "on the rest of the boundary"),
    ]
    assert sketch.read_text().lstrip().startswith("<svg")


def test_check_names_the_sides_without_a_condition(poisson: Path) -> None:
    text = poisson.read_text()
    poisson.write_text(text[: text.rindex("[[conditions]]")] + text[text.index("[solve]") :])
    code, said = run("check", str(poisson))
    assert code == 2
    assert "where y = 1.5708" in said
    assert "underdetermined, missing a condition where y = 1.5708" in said


@pytest.mark.parametrize("name", ["a.bmp", "picture", "nowhere/a.png"])
def test_a_picture_that_cannot_be_is_refused_before_solving(poisson: Path, tmp_path: Path, name: str) -> None:
    code, text = run("solve", str(poisson), "--picture", str(tmp_path / name))
    assert code == 2
    assert "--picture: expected" in text
    assert not (tmp_path / "problem.pibls").exists()


def test_values_are_shown_with_all_digits(poisson: Path, tmp_path: Path) -> None:
    run("solve", str(poisson), "--quiet")
    saved = tmp_path / "problem.pibls"
    code, text = run("show", str(saved), "--at", "x=0.5,y=0.25", "--at", "x=3,y=0")
    inside, outside = text.splitlines()
    assert code == 0
    assert float(inside.removeprefix("x=0.5,y=0.25: u = ")) == float(pibls.load(saved)(0.5, 0.25))
    assert outside == "x=3,y=0: u = nan (outside the domain)"


def test_parameters_may_be_formulas(poisson: Path) -> None:
    _, third = run("solve", str(poisson), "--json", "-p", "strength=1/3")
    assert json.loads(third)["converged"]
    code, text = run("check", str(poisson), "-p", "strength=__import__")
    assert code == 2
    assert "a name of at most" in text or "expected" in text


def test_an_error_is_json_too(poisson: Path) -> None:
    for words in (["solve", "nowhere.toml"], ["check", "nowhere.toml"], ["show", "nowhere.pibls"],
                  ["case", "TC-12"], ["sweep", str(poisson), "-p", "strength=x"]):  # fmt: skip
        result = CliRunner().invoke(app, [*words, "--json"])
        assert result.exit_code == 2
        assert result.stderr == f"error: {json.loads(result.stdout)['error']}\n"


def test_all_outputs_of_a_file_are_written(poisson: Path, tmp_path: Path) -> None:
    text = poisson.read_text()
    text = text[: text.index("[output]")] if "[output]" in text else text
    poisson.write_text(text + '[output]\npicture = "a.png"\ntable = "a.csv"\nvtk = "a.vtu"\n')
    code, said = run("solve", str(poisson), "--json")
    names = [Path(p).name for p in json.loads(said)["written"]]
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
def test_outputs_that_cannot_be_are_refused_before_solving(
    poisson: Path, tmp_path: Path, line: str, message: str
) -> None:
    text = poisson.read_text()
    text = text[: text.index("[output]")] if "[output]" in text else text
    poisson.write_text(f"{text}[output]\n{line}\n")
    code, said = run("solve", str(poisson))
    assert code == 2
    assert message in said
    assert not (tmp_path / "problem.pibls").exists()


def test_a_table_that_fails_costs_nothing_else(poisson: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    text = poisson.read_text()
    text = text[: text.index("[output]")] if "[output]" in text else text
    poisson.write_text(text + '[output]\ntable = "a.csv"\n')
    monkeypatch.setattr("pibls.exchange.to_csv", full)
    result = CliRunner().invoke(app, ["solve", str(poisson), "--json"])
    found = json.loads(result.stdout)
    assert result.exit_code == 2
    assert found["converged"]
    assert [Path(p).name for p in found["written"]] == ["problem.pibls"]
    assert "No space left on device" in found["error"]
    assert "a.csv: No space left on device" in result.stderr


def test_more_coordinates_than_paper_can_show(tmp_path: Path) -> None:
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


def test_a_parameter_twice(poisson: Path) -> None:
    code, text = run("sweep", str(poisson), "-p", "strength=1", "-p", "strength=2")
    assert code == 2
    assert "each parameter once" in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["cases"], ["new", "heat"], ["cases", "--json"]])
def test_nobody_reads_or_the_disk_is_full(words: list[str]) -> None:
    command = [sys.executable, "-c", "from pibls.cli import main; main()", *words]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr == "error: standard output: No space left on device\n"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(writing)
    assert done.returncode == -signal.SIGPIPE
    assert done.stderr == ""


def test_version() -> None:
    assert run("--version") == (0, f"pibls {pibls.__version__}\n")


def test_check_writes_brackets_as_they_are(poisson: Path) -> None:
    title = "[bold]a[/bold] title"
    poisson.write_text(poisson.read_text().replace("Poisson's equation on a rectangle", title))
    code, text = run("check", str(poisson))
    assert code == 0
    assert title in text


def test_not_converged_is_code_1_and_written(poisson: Path, tmp_path: Path) -> None:
    code, text = run("solve", str(poisson), "--tol", "1e-13", "--max-nodes", "16")
    assert code == 1
    assert "converged: no" in text
    assert (tmp_path / "problem.pibls").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["slove"], "unknown command: slove. Did you mean solve?"),
        (["new", "poison"], "Did you mean poisson?"),
        (["case", "TC-50"], "Did you mean TC-5?"),
        (["solve", "nowhere.toml"], "nowhere.toml: expected a file that can be read"),
        (["show", "nowhere.pibls"], "nowhere.pibls"),
    ],
)
def test_bad_input_is_code_2(words: list[str], message: str) -> None:
    code, text = run(*words)
    assert code == 2
    assert message in text
    assert "Traceback" not in text


def test_a_mistake_in_the_file_is_pointed_at(poisson: Path) -> None:
    poisson.write_text(poisson.read_text().replace("laplacian(u)", "laplacan(u)"))
    code, text = run("solve", str(poisson))
    assert code == 2
    assert "problem.toml" in text
    assert "laplacian" in text
    assert "^" in text


def test_show_and_values(poisson: Path, tmp_path: Path) -> None:
    run("solve", str(poisson), "--quiet")
    saved = str(tmp_path / "problem.pibls")
    code, text = run("show", saved, "--json", "--at", "x=0.5,y=0.3")
    assert code == 0
    value = json.loads(text)["values"][0]["values"]["u"]
    assert value == pibls.load(saved)(0.5, 0.3)
    code, text = run("show", saved, "--at", "x=0.5")
    assert code == 2
    assert "a value for each of x, y" in text


def test_sweep_keeps_what_is_finished(poisson: Path, tmp_path: Path) -> None:
    words = ["sweep", str(poisson), "--param", "strength=1:2:2", "--out", str(tmp_path / "all"), "--json",
             "--at", "x=0.5,y=0.5"]  # fmt: skip
    code, text = run(*words)
    assert code == 0
    rows = [json.loads(line) for line in text.splitlines()]
    assert [r["parameters"]["strength"] for r in rows] == [1.0, 2.0]
    again = [json.loads(line) for line in run(*words)[1].splitlines()]
    assert [r["seconds"] for r in again] == [r["seconds"] for r in rows]  # loaded, not solved again


def test_cases() -> None:
    assert len(run("cases")[1].splitlines()) == 11
    code, text = run("case", "TC-2", "--json")
    assert code == 0
    assert json.loads(text)["true_error"] < 1e-10


def test_help_shows_examples() -> None:
    assert "pibls new poisson > problem.toml" in run("--help")[1]
    assert "--tol 1e-8" in run("solve", "--help")[1]


PRESSED = """
import signal
import pibls
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
solve, seen = pibls.solve, []

def press_ctrl_c(progress):
    seen.append(progress)
    if len(seen) == 2:
        signal.raise_signal(getattr(signal, NAME))

pibls.solve = lambda *given, **more: solve(*given, **{**more, "callback": press_ctrl_c})
from pibls.cli import main
main()
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_keeps_the_best_so_far(poisson: Path, tmp_path: Path, name: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"NAME = {name!r}\n" + PRESSED, "solve", str(poisson), "--tol", "1e-13"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "interrupted: the best solution so far was saved" in done.stderr
    assert "written" in done.stdout
    loaded = pibls.load(tmp_path / "problem.pibls")
    assert loaded.status is pibls.Status.INTERRUPTED


def test_the_problem_file_of_the_readme(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    path = tmp_path / "own.toml"
    path.write_text(readme.split("```toml\n")[1].split("```")[0])
    code, text = run("solve", str(path), "--json")
    assert code == 0
    assert json.loads(text)["converged"]
    assert float(pibls.load(tmp_path / "own.pibls")(0.5, 0.5)) == pytest.approx(1.0, abs=1e-10)
