"""Shared fixtures, and the lists of slow and of long tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.saved_solutions import small_solution

SLOW = (
    # Seconds on a machine with a load of 15 (pytest -m slow --durations=60); about a sixth of it when idle.
    "tests/test_cases.py::test_published_settings_of_slow_cases",  # 233, 61, 46, 9
    "tests/test_cases.py::test_published_settings_reach_the_published_error",  # 44, 40, 26, 19, …
    "tests/test_corner_compatibility.py::test_problems_of_the_gallery_and_of_the_paper_are_compatible",  # 19
    "tests/test_gallery.py",  # 20, 8, 6, 5, …: 58 problems
    "tests/test_solution_file.py::test_same_values_in_another_process",  # 15
    "tests/test_solution_file.py::test_killed_save_keeps_the_old_file",  # 13
    "tests/test_fit_functions.py::test_growth_law_of_the_density",  # 10
    "tests/test_fit_functions.py::test_source_in_the_plane_from_fifty_values",  # 7
    "tests/test_html.py::test_solution_with_a_plot",  # 8, 4, 3, …
    "tests/test_assay_fit.py::test_fit_reproduces_stored_values",  # 7
    "tests/test_damaged_files.py::test_random_change_of_the_header_loads_or_is_rejected",  # 5
    "tests/test_damaged_files.py::test_every_bit_flip_is_rejected",  # 4
    "tests/test_engine.py::test_distributed_result_is_bitwise_equal",  # 40, 35
    "tests/test_engine.py::test_adaptive_solve_with_engine",  # 36
    "tests/test_interface_evolutions.py::test_evolution[nernst",
    "tests/test_interface_evolutions.py::test_evolution[vibrating",
    "tests/test_interface_evolutions.py::test_evolution[waves",
    # Hundreds of inputs, or neural networks that are trained.
    "tests/test_text_attacks.py::test_random_fragments_are_parsed_or_rejected",
    "tests/test_text_attacks.py::test_random_text_is_parsed_or_rejected",
    "tests/test_text_attacks.py::test_short_fuzz_run",
    "tests/test_text_attacks.py::test_no_code_is_executed",
    "tests/test_peers_",
    "tests/test_scaling.py",
    "tests/test_studies.py",
)
"""Prefixes of the identifiers of tests that `make quick` leaves out."""

LONG = (
    "tests/test_interface_coupling.py::test_all_combinations_in_other_geometries",  # 72 problems of 2 s
    "tests/test_interface_properties.py::test_many",  # 300 and 150 problems
    "tests/test_function_jumps.py::test_hundreds",  # 300 problems
    "tests/test_function_jumps.py::test_many_schedules",  # 150 and 60 problems
)
"""Prefixes of the identifiers of property tests that take minutes: only `make long` runs them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
        if item.nodeid.startswith(LONG):
            item.add_marker(pytest.mark.long)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A small saved solution."""
    path: Path = small_solution().save(tmp_path / "small.pibls")
    return path
