"""Adapters of the compared systems, one per system, imported on demand."""

from __future__ import annotations

from importlib import import_module

from benchmarks.peers.adapter import Adapter

# In the order of the tables.
MODULES = {
    "pinn1": "deepxde_pinn:PINN1",
    "pinn2": "deepxde_pinn:PINN2",
    "pielm": "pielm:Published",
    "pielm-best": "pielm:BestScale",
    "locelm": "locelm:LocELM",
    "fenics-p1": "fenics:P1",
    "fenics-p2": "fenics:P2",
    "newmark": "newmark:NewmarkBeta",
    "solve-bvp": "scipy_bvp:SolveBVP",
    "ngsolve": "ngsolve_high_order:NGSolve",
    "scikit-fem": "skfem_high_order:ScikitFEM",
    "tfc": "tfc_peer:TFC",
    "pyrfm": "pyrfm_peer:PyRFM",
    "pypielm": "pypielm_peer:PyPIELM",
    "pibls-published": "pibls_peer:PublishedSettings",
    "pibls": "pibls_peer:ZeroSettings",
}


def adapter(name: str) -> Adapter:
    """Return the adapter of a system."""
    module, _, attribute = MODULES[name].partition(":")
    found: Adapter = getattr(import_module(f"benchmarks.peers.{module}"), attribute)()
    return found
