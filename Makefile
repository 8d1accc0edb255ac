# Each target is enough by itself on a machine with python3 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test quick slow long lint package mutants bench bench-full bench-self figures pages gallery docs clean

demo: $(READY)
	$(BIN)/python benchmarks/demo.py

# One BLAS thread per test process: two processes with two threads each wait for one another.
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --durations=10

# All but the property tests with hundreds of problems; the slow and the long ones are named in tests/conftest.py.
test: $(READY)
	$(PYTEST) -m "not long"

quick: $(READY)
	$(PYTEST) -m "not slow and not long"

long: $(READY)
	$(PYTEST) -m long

slow: $(READY)
	$(PYTEST) -m slow

# A wheel and a source package, built, installed into an empty environment and tried there.
package:
	PYTHON=$(PYTHON) .ci/package

# Lines of the core and thresholds, each changed in a fork: do the quick tests notice? Resumes where it was.
mutants: $(READY)
	$(BIN)/python -m benchmarks.mutants

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Every peer that installs here; FEniCS comes from the system's packages (apt-get install fenics).
# PyTorch first and by version: otherwise a build with several gigabytes of CUDA may come.
PEERS := $(VENV)/.peers
$(PEERS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 \
		&& $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]" \
		|| echo "some peers are not installed: their cells will say so"
	touch $(PEERS)

# What is quick: all but the PINNs at full length. Cells that are there are kept; AGAIN=--again runs anew.
bench: $(PEERS)
	$(BIN)/python -m benchmarks.run $(AGAIN)
	$(BIN)/python -m benchmarks.pages

# Everything; interrupt and resume at will.
bench-full: $(PEERS)
	$(BIN)/python -m benchmarks.run --full $(AGAIN)
	$(BIN)/python -m benchmarks.scaling
	$(BIN)/python -m benchmarks.fields
	$(BIN)/python -m benchmarks.pages

# pibls against itself and NGSolve: the figures that the documentation quotes.
bench-self: $(READY)
	$(BIN)/python benchmarks/published.py
	$(BIN)/python benchmarks/default_settings.py
	$(BIN)/python benchmarks/nonlinear.py
	$(BIN)/python benchmarks/cost.py
	$(BIN)/python benchmarks/ngsolve_comparison.py

# The figures and tables of docs/, measured again from scratch with the current core: the two rows of pibls in the
# comparison, the pictures of solutions, the studies, the scratch assay, the tables of the README. Hours on one core.
figures: $(READY)
	$(BIN)/python -m benchmarks.run --system pibls-published --system pibls --again
	$(BIN)/python -m benchmarks.fields
	$(BIN)/python -m benchmarks.cold_warm
	$(BIN)/python -m benchmarks.tolerances
	$(BIN)/python -m benchmarks.rounding
	$(BIN)/python -m benchmarks.assay
	$(BIN)/python -m benchmarks.assay_holdout
	$(BIN)/python -m benchmarks.assay_forward
	$(BIN)/python -m benchmarks.assay --page
	$(BIN)/python -m benchmarks.calibration
	$(BIN)/python benchmarks/sensitivity.py --again
	$(BIN)/python benchmarks/convergence.py
	$(BIN)/python benchmarks/scale_figure.py
	$(BIN)/python benchmarks/ablation.py --again
	$(BIN)/python benchmarks/pielm_range.py
	$(BIN)/python benchmarks/embedding.py
	$(BIN)/python benchmarks/framework_figure.py
	$(BIN)/python benchmarks/hero_figure.py
	$(BIN)/python -m benchmarks.pages

# The pages of docs/ that are made of stored numbers; nothing is measured.
pages: $(READY)
	$(BIN)/python -m benchmarks.pages

# The gallery's pictures and its page.
gallery: $(READY)
	$(BIN)/python docs/gallery/make.py

# The documentation as a static site in site/; a warning is an error.
SITE := $(VENV)/.docs
$(SITE): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $(SITE)

docs: $(SITE)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache
