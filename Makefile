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

bench: $(READY)
	$(BIN)/python benchmarks/published.py
	$(BIN)/python benchmarks/nonlinear.py
	$(BIN)/python benchmarks/cost.py

docs: $(READY)
	$(BIN)/python benchmarks/ablation.py --write docs/ablation.md

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
