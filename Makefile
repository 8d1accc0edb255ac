# Each target is enough by itself on a machine with python3 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench docs clean

demo: $(READY)
	$(BIN)/python benchmarks/demo.py

# One BLAS thread per test process: two processes with two threads each wait for one another.
test: $(READY)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What the documentation quotes: accuracy and time with the published settings and without any.
bench: $(READY)
	$(BIN)/python benchmarks/published.py
	$(BIN)/python benchmarks/automatic.py
	$(BIN)/python benchmarks/nonlinear.py
	$(BIN)/python benchmarks/cost.py
	$(BIN)/python benchmarks/against_ngsolve.py

# The figures and tables of docs/, made again from scratch.
docs: $(READY)
	$(BIN)/python benchmarks/calibration.py
	$(BIN)/python benchmarks/sensitivity.py
	$(BIN)/python benchmarks/convergence.py
	$(BIN)/python benchmarks/scale_figure.py
	$(BIN)/python benchmarks/ablation.py --write docs/ablation.md

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
