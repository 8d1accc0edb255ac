"""Tables 2 and 3 of the paper: maximum error, L2 error and seconds per system and case.

The values are copied, not measured; the times are those of the authors' machine.
"""

from __future__ import annotations

Printed = tuple[float, float, float]

MACHINE = "Intel Core i5-12600KF, 32 GB, Windows Subsystem for Linux"
TABLE_2 = ("TC-1", "TC-2", "TC-3", "TC-4", "TC-5", "TC-6", "TC-7", "TC-8")
TABLE_3 = ("TC-9", "TC-10", "TC-11")

ROWS: dict[str, dict[str, Printed]] = {
    "PINN #1": {
        "TC-1": (2.16e-04, 9.18e-05, 16.61),
        "TC-2": (8.89e-05, 6.73e-05, 13.77),
        "TC-3": (1.95e-04, 9.46e-05, 16.75),
        "TC-4": (1.62e-02, 5.16e-03, 29.71),
        "TC-5": (2.02e-02, 6.14e-03, 58.01),
        "TC-6": (2.69e-03, 5.90e-04, 60.1),
        "TC-7": (2.54e-02, 6.04e-03, 37.34),
        "TC-8": (1.47e-03, 7.57e-04, 23.77),
        "TC-9": (1.31e00, 5.44e-01, 367),
        "TC-10": (1.05e-04, 5.38e-05, 26.5),
        "TC-11": (1.82e01, 4.64e00, 75.9),
    },
    "PINN #2": {
        "TC-1": (1.43e-04, 4.26e-05, 325),
        "TC-2": (2.44e-04, 1.34e-04, 310),
        "TC-3": (6.27e-06, 3.17e-06, 382),
        "TC-4": (9.78e-04, 2.31e-04, 849),
        "TC-5": (4.06e-03, 3.72e-01, 1663),
        "TC-6": (1.84e-03, 4.46e-04, 1844),
        "TC-7": (4.45e-03, 5.24e-04, 698),
        "TC-8": (3.71e-03, 5.35e-04, 1116),
        "TC-9": (1.30e00, 5.44e-01, 1082),
        "TC-10": (2.53e-06, 2.85e-06, 812),
        "TC-11": (2.95e01, 5.74e00, 1835),
    },
    "PIELM": {
        "TC-1": (5.96e-07, 1.61e-07, 0.10),
        "TC-2": (3.57e-07, 9.67e-08, 0.02),
        "TC-3": (1.29e-07, 3.69e-08, 0.03),
        "TC-4": (8.71e-08, 2.43e-08, 0.38),
        "TC-5": (1.06e-07, 2.74e-07, 0.24),
        "TC-6": (1.41e-07, 4.81e-08, 0.28),
        "TC-7": (5.98e-05, 2.21e-06, 0.57),
        "TC-8": (4.88e-07, 9.73e-08, 0.25),
    },
    "locELM": {
        "TC-9": (1.45e-09, 2.34e-10, 7.7),
        "TC-10": (2.82e-11, 1.12e-11, 0.34),
        "TC-11": (1.85e-08, 4.44e-09, 27.6),
    },
    "FEM": {
        "TC-1": (1.78e-07, 1.27e-07, 0.03),
        "TC-2": (2.59e-08, 2.00e-08, 0.03),
        "TC-3": (1.25e-09, 7.19e-10, 0.03),
        "TC-4": (2.77e-08, 1.39e-08, 0.05),
        "TC-5": (8.97e-10, 3.31e-10, 0.05),
        "TC-6": (1.23e-10, 6.43e-11, 0.05),
        "TC-7": (5.08e-05, 4.22e-02, 0.03),
        "TC-8": (1.32e-04, 2.66e-05, 0.01),
        "TC-9": (5.38e-08, 6.66e-07, 0.03),
        "TC-11": (4.93e-02, 2.04e-02, 0.06),
    },
    # Starred in the row of FEM: an ordinary differential equation in time has no spatial FEM.
    "Newmark-beta": {"TC-10": (4.41e-10, 3.02e-10, 3.72)},
    "PIBLS": {
        "TC-1": (2.00e-15, 5.99e-16, 0.13),
        "TC-2": (4.22e-15, 1.05e-15, 0.01),
        "TC-3": (7.77e-16, 2.55e-16, 0.03),
        "TC-4": (8.40e-13, 2.98e-13, 0.76),
        "TC-5": (6.51e-14, 7.69e-15, 0.38),
        "TC-6": (3.09e-14, 3.37e-15, 0.51),
        "TC-7": (9.49e-13, 2.39e-13, 0.70),
        "TC-8": (2.09e-11, 4.71e-12, 0.24),
        "TC-9": (2.76e-11, 4.69e-12, 6.76),
        "TC-10": (8.88e-16, 2.40e-16, 3.2),
        "TC-11": (8.63e-10, 9.88e-11, 0.56),
    },
}

# The row of the paper for each system. The paper does not give the element order of FEM.
PAPER_ROW = {
    "pinn1": "PINN #1",
    "pinn2": "PINN #2",
    "pielm": "PIELM",
    "locelm": "locELM",
    "fenics-p1": "FEM",
    "fenics-p2": "FEM",
    "newmark": "Newmark-beta",
    "pibls-published": "PIBLS",
}


def printed(system: str, case: str) -> Printed | None:
    """Return the values printed in the paper for a system and case, or None."""
    return ROWS.get(PAPER_ROW.get(system, ""), {}).get(case)
