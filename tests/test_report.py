"""The benchmark report from a small stored sample of invented runs: three systems on three cases."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from benchmarks import fields, paper_tables, peers, report, report_tables, store
from benchmarks.report_page import page
from benchmarks.report_tables import Footnotes

import pibls

pytest.importorskip("matplotlib")
pytest.importorskip("markdown_it")

SAMPLE = Path(__file__).parent / "data" / "benchmark_results"
RUNS = store.read_all(SAMPLE)
FOUND = report_tables.summaries(RUNS)


def cell(system: str, case: str, notes: Footnotes | None = None) -> list[str]:
    """Return the lines of one table cell."""
    return report_tables.cell_text(FOUND, system, case, notes or Footnotes()).split("<br />")


@pytest.fixture(scope="module")
def report_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete report, with arrays for one case of each kind and both hand-written files."""
    out = tmp_path_factory.mktemp("report")
    for name in ("TC-2", "TC-5"):
        axes = [a[::6] for a in fields.axes_of(pibls.cases[name])]
        exact = pibls.cases[name].exact(*np.meshgrid(*axes, indexing="ij"))
        arrays = {f"axis{i}": a for i, a in enumerate(axes)}
        arrays |= {"automatic": exact, "automatic_error": 1e-15 * exact, "published_error": 0.0 * exact}
        fields.write(name, arrays, out / "fields")
    (out / "reading.md").write_text("# Reading\n\nWritten by hand.\n\n## A point\n")
    (out / "scaling.md").write_text("Ten times the points, ten times the seconds.\n")
    generate(out)
    return out


def generate(out: Path) -> None:
    report.main(["--results", str(SAMPLE), "--fields", str(out / "fields"), "--out", str(out)])


def test_cell_has_medians_and_the_worst_seed() -> None:
    assert cell("pibls", "TC-5") == ["**2.7e-15** / **5.4e-16** / 0.18", "worst 3.4e-15 of 3 seeds"]
    assert cell("pibls", "TC-1") == ["**2.0e-15** / **5.0e-16** / 0.012", "worst 9.0e-15 of 3 seeds"]


def test_only_the_setting_for_the_table_is_in_the_table() -> None:
    assert cell("fenics-p2", "TC-5")[0] == "2.0e-08 / 5.1e-09 / 0.61"


def test_cell_has_compile_time_and_numbers_of_the_paper() -> None:
    assert cell("fenics-p2", "TC-5")[1:] == ["compiling 2.4 s", "*paper 8.97e-10 / 3.31e-10 / 0.05*"]
    assert cell("pinn2", "TC-1") == ["1.2e-04 / 3.9e-05 / 1312", "*paper 1.43e-04 / 4.26e-05 / 325*"]


def test_capped_run_states_its_step() -> None:
    notes = Footnotes()
    assert cell("pinn2", "TC-5", notes) == [
        "6.1e-03 / 1.1e-03 / 1800<sup>1</sup>",
        "capped at step 21,300",
        "*paper 4.06e-03 / 3.72e-01† / 1663*",
    ]
    assert notes.lines() == ["1. The cap of 1800 s came during Adam."]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"step": 7000}, "at step 7,000"),
        ({"adam_steps": 4500, "lbfgs_iterations": 12, "w": 9}, "after 4,500 adam steps, 12 lbfgs iterations"),
        ({}, "at 90 s"),
    ],
)
def test_step_of_a_capped_run_is_described(facts: dict[str, float], words: str) -> None:
    assert report_tables.reach_of({"facts": facts, "seconds": 90.0}) == words


def test_missing_runs_are_explained() -> None:
    notes = Footnotes()
    assert cell("fenics-p2", "TC-1", notes)[0] == "not installed<sup>1</sup>"
    assert cell("fenics-p2", "TC-10", notes) == ["cannot<sup>2</sup>"]
    assert cell("pinn2", "TC-10", notes)[0] == "failed: the loss is not finite"
    assert cell("pibls", "TC-10", notes)[2] == "1 seed failed<sup>3</sup>"
    assert cell("fenics-p2", "TC-1", notes)[0] == "not installed<sup>1</sup>"
    assert cell("tfc", "TC-1", notes) == ["not run"]
    assert cell("pinn1", "TC-1", notes)[0] == "not run"
    first, second, third = notes.lines()
    assert first.endswith(r"apt install fenics \| python3-dolfin")
    assert second.startswith("2. an initial-value problem")
    assert second.endswith("&lt;see newmark&gt;")
    assert third.startswith("3. LinAlgError")


def test_seeds_that_failed_do_not_change_the_medians() -> None:
    assert cell("pibls", "TC-10")[0] == "**1.2e-15** / **3.0e-16** / 0.0085"


def test_results_that_are_not_finite_are_never_the_best() -> None:
    run = next(r for r in RUNS if r["system"] == "pinn2" and r["case"] == "TC-1")
    diverged = {**run, "system": "pinn1", "max_error": float("nan"), "l2_error": float("inf")}
    found = report_tables.summaries([diverged])
    text = report_tables.cell_text(found, "pinn1", "TC-1", Footnotes())
    assert text.startswith("not finite / not finite / 1312")
    assert "**" not in text


def test_later_missing_run_does_not_hide_results() -> None:
    run = next(r for r in RUNS if r["status"] == "missing")
    later = {**run, "case": "TC-5", "date": "2027-01-01T00:00:00+00:00"}
    found = report_tables.summaries([*RUNS, later])
    assert report_tables.cell_text(found, "fenics-p2", "TC-5", Footnotes()).startswith("2.0e-08")


def test_complete_run_replaces_a_capped_one() -> None:
    """Also if the capped run is the later one."""
    run = next(r for r in RUNS if r["system"] == "pinn2" and r["case"] == "TC-5")
    complete = {**run, "setting": "complete", "status": "ok", "note": "", "date": "2020-01-01T00:00:00+00:00"}
    cell = report_tables.in_table(report_tables.summaries([*RUNS, complete]), "pinn2", "TC-5")
    assert cell is not None
    assert cell.setting == "complete"


def test_bold_is_the_best_of_each_case() -> None:
    table = report_tables.comparison(FOUND, report.SPLIT[1], {})
    assert re.findall(r"\*\*(.*?)\*\*", table) == ["2.7e-15", "5.4e-16"]


def test_rows_are_in_the_order_of_the_registry(report_folder: Path) -> None:
    body = (report_folder / "report.md").read_text().split("### TC-1 to TC-4")[1].split("###")[0]
    rows = [line for line in body.splitlines() if line.startswith("| ")][2:]
    known = report.adapters(peers.MODULES)
    titles = [report_tables.escaped(known[s].title if s in known else s) for s in peers.MODULES]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == titles


def test_every_run_appears(report_folder: Path) -> None:
    body = (report_folder / "report.md").read_text().split("## All runs")[1]
    for s in FOUND:
        seeds = ", ".join(str(r["seed"]) for r in s.runs)
        assert re.search(
            rf"^\| {s.case} \| {re.escape(s.setting or '—')}.* \| {seeds} \|", body, re.MULTILINE
        )
    for run in RUNS:
        assert f"\n{run['command']}\n" in body
        assert report_tables.escaped(run["note"]) in body
    assert sum(map(int, re.findall(r"<summary>.*: (\d+) runs?</summary>", body))) == len(RUNS)


def test_versions_machine_and_commands_are_listed(report_folder: Path) -> None:
    text = (report_folder / "report.md").read_text()
    assert "deepxde 1.15.0, torch 2.13.0" in text
    assert "made-up processor, 2 cores, Linux | 2026-11-14 to 2026-11-15" in text
    assert "python -m benchmarks.run --system pibls --case TC-5 --full --again" in text
    assert f"{len(RUNS)} stored runs that fill 9 of" in text


def test_hand_written_parts_are_included(report_folder: Path) -> None:
    text = (report_folder / "report.md").read_text()
    assert "## Reading\n\nWritten by hand.\n\n### A point\n" in text
    assert "## Scaling\n\nTen times the points, ten times the seconds.\n" in text


def test_headings_in_code_stay(tmp_path: Path) -> None:
    path = tmp_path / "text.md"
    path.write_text("# Title\n## Part\n```\n# comment\n## comment\n```\n")
    assert report.included(path) == "### Part\n```\n# comment\n## comment\n```"


def test_fairness_notes_are_listed(report_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (report_folder / "report.md").read_text()
    assert report_tables.escaped(peers.adapter("pielm").fairness) in text
    monkeypatch.setitem(peers.MODULES, "another", "no_such_module:Nothing")
    known = report.adapters(["pibls", "another"])
    assert list(known) == ["pibls"]
    assert "- **another**. Its adapter is not there." in report.fairness_section(known, ["another"])[1]


def test_html_is_well_formed_and_needs_no_network(report_folder: Path) -> None:
    text = (report_folder / "report.html").read_text()
    root = ET.fromstring(text.removeprefix("<!DOCTYPE html>\n"))
    assert root.findtext("head/title", "").startswith("The paper's claims")
    assert len(list(root.iter("table"))) == 3 + 1 + 3
    pictures = [element.attrib["src"] for element in root.iter("img")]
    assert len(pictures) == 3 + 2
    assert all((report_folder / name).stat().st_size > 10_000 for name in pictures)
    anchors = {element.attrib["id"] for element in root.iter("h2")}
    assert {a.attrib["href"].removeprefix("#") for a in root.iter("a")} == anchors
    assert "http" not in text


def test_escaped_characters_are_kept_in_html() -> None:
    awkward = "a | b <b>c</b> *d* _e_ `f` [g](h) $i$ & j"
    root = ET.fromstring(
        page(report_tables.table(["x", "y"], [["1", report_tables.escaped(awkward)]])).split("\n", 1)[1]
    )
    assert [td.text for td in root.iter("td")] == ["1", awkward]


def test_report_is_reproducible(report_folder: Path) -> None:
    names = [
        "report.md",
        "report.html",
        *(f"figures/{p.name}" for p in (report_folder / "figures").iterdir()),
    ]
    before = {name: (report_folder / name).read_bytes() for name in names}
    generate(report_folder)
    assert {name: (report_folder / name).read_bytes() for name in names} == before


def test_report_without_stored_runs(tmp_path: Path) -> None:
    text = report.written([], tmp_path, tmp_path / "none")
    assert "0 stored runs that fill 0 of" in text
    assert "Not made yet" in text
    assert text.count("not run") == len(peers.MODULES) * len(list(pibls.cases))


def test_numbers_of_the_paper() -> None:
    """The row of PIBLS is also in the library; the starred cell belongs to Newmark-beta only."""
    for name in pibls.cases:
        published = pibls.cases[name].published
        expected = (published.max_error, published.l2_error, published.seconds)
        assert paper_tables.printed("pibls-published", name) == expected
    assert sum(map(len, paper_tables.ROWS.values())) == 5 * 8 + 5 * 3
    assert paper_tables.printed("newmark", "TC-10") == (4.41e-10, 3.02e-10, 3.72)
    assert paper_tables.printed("fenics-p1", "TC-10") is None
    assert paper_tables.printed("fenics-p1", "TC-5") == paper_tables.printed("fenics-p2", "TC-5")
    assert paper_tables.printed("pibls", "TC-5") is None


def test_fields_are_computed_and_stored(tmp_path: Path) -> None:
    measured = fields.measure_case(pibls.cases["TC-2"])
    fields.write("TC-2", measured, tmp_path)
    found = fields.read("TC-2", tmp_path)
    assert found is not None
    np.testing.assert_allclose(found["automatic"], pibls.cases["TC-2"].exact(found["axis0"]), atol=1e-6)
    assert np.abs(found["automatic_error"]).max() < 1e-12
    assert np.abs(found["published_error"]).max() < 1e-11
    assert fields.read("TC-1", tmp_path) is None


def test_stored_fields_are_complete_and_small() -> None:
    found = {path.stem: path.stat().st_size for path in fields.FIELDS.glob("*.npz")}
    assert set(found) == set(pibls.cases)
    assert sum(found.values()) < 200_000
