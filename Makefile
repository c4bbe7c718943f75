# Every target works on its own on a machine with Python >= 3.11, make and a C compiler: it makes
# the environment .venv, installs what it needs, and does its job. `make PYTHON=python3.13 test`
# chooses another interpreter (after `make clean`).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# What an installation depends on: a change of any of these installs (and compiles) again.
SOURCES := pyproject.toml paper/pyproject.toml setup.py $(shell find src/htsvm -name "*.pyx" -o -name "*.pxd" -o -name "*.h")

# What the report is made by.
PAPER := $(shell find paper/src/htsvm_paper/experiments -type f -not -name "*.pyc")

# Tests and benchmarks on larger data look here; without the folder they skip.
ifneq ($(wildcard ../shared/data),)
export HTSVM_DATA ?= $(abspath ../shared/data)
endif

.DEFAULT_GOAL := help
.PHONY: help demo reproduce test fuzz audit-dependencies test-slow test-oldest bench bench-compare docs docs-links docs-serve wheel lint format clean

help:
	@echo "make demo       find wrong labels in a table, compare HTSVC with its rivals on noisy labels,"
	@echo "                then a quick version of the paper's experiments; pages in htsvm-demo/"
	@echo "make reproduce  all of the paper's tables and figures, in hours; writes htsvm-report.html"
	@echo "make test       lint, type check and test"
	@echo "make test-slow  the long tests"
	@echo "make fuzz       hostile problems for MINUTES=10, judged by oracles that know no solver; what"
	@echo "                is wrong is shrunk and printed as a test; goes on where the last run ended"
	@echo "make audit-dependencies  look up known vulnerabilities of what users install"
	@echo "make test-oldest  the tests on the oldest supported NumPy, SciPy, scikit-learn and others"
	@echo "make docs       build the documentation with all its examples: build/docs/index.html"
	@echo "make docs-links check its links to other sites"
	@echo "make docs-serve build it and show it on http://localhost:8000"
	@echo "make wheel      build a wheel and an sdist into dist/, and try the wheel without a compiler"
	@echo "make bench      speed and memory beside scikit-learn's classifiers"
	@echo "make bench-compare BASE=main  is the working tree slower than that commit? In minutes"
	@echo "make lint       ruff and mypy alone"
	@echo "make format     let ruff rewrite the files"
	@echo "make clean      remove .venv and everything that was built"

$(VENV)/created:
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "htsvm needs Python 3.11 or later; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# One stamp per set of extras.
$(VENV)/installed-%: $(VENV)/created $(SOURCES)
	@echo "Installing htsvm[$*] into $(VENV) ..."
	@$(PIP_INSTALL) -e ".[$*]" -e paper
	@touch $@

# First what the library is for, then how well it does, then the paper.
demo: $(VENV)/installed-audit
	@mkdir -p htsvm-demo
	@$(BIN)/python -c "import pandas; from htsvm.datasets import load_noisy_digits; d = load_noisy_digits(); \
		table = pandas.DataFrame(d.data, columns=d.feature_names).assign(digit=d.target); \
		table.to_csv('htsvm-demo/digits.csv', index=False); \
		print('htsvm-demo/digits.csv:', len(table), 'digits, of which', d.wrong.sum(), 'carry a wrong label')"
	$(BIN)/htsvm audit htsvm-demo/digits.csv --label digit --output htsvm-demo/audit.html --force
	$(BIN)/htsvm-paper demo --output htsvm-demo/classifiers.html
	$(BIN)/htsvm-paper reproduce --quick --store htsvm-demo/quick.sqlite
	$(BIN)/htsvm-paper report --quick --store htsvm-demo/quick.sqlite --output htsvm-demo/quick.html
	@echo "Pages: audit.html, classifiers.html and quick.html in htsvm-demo/"

reproduce: $(VENV)/installed-audit
	$(BIN)/htsvm-paper reproduce
	$(BIN)/htsvm-paper report

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: lint
	$(BIN)/pytest -n 2 -m "not slow"

test-slow: $(VENV)/installed-dev
	$(BIN)/pytest -n 2 -m slow

MINUTES ?= 10
SEED ?= 0

fuzz: $(VENV)/installed-dev
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED)

# In an environment of its own, so that tools for development are not looked at.
audit-dependencies:
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(PYTHON) -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
		extras = p["optional-dependencies"]; \
		names = p["dependencies"] + [n for e in ("dask", "plot", "datasets", "audit") for n in extras[e]]; \
		print("\n".join(n for n in names if not n.startswith("htsvm[")))' > .venv-audit/requirements.txt
	.venv-audit/bin/pip-audit --strict --requirement .venv-audit/requirements.txt || { \
		echo "audit-dependencies: a vulnerability is known, or the registry does not know all packages;" \
			"of those named above nothing can be said"; exit 1; }

# An environment of its own, with exactly the releases in constraints-oldest.txt.
.venv-oldest/installed: constraints-oldest.txt $(SOURCES)
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check \
		-c constraints-oldest.txt -e ".[test]" -e paper
	@touch $@

test-oldest: .venv-oldest/installed
	.venv-oldest/bin/python -m pytest -n 2 -m "not slow"

# The report follows from the published results; its tables as files are in paper/results.
docs/report.md: $(VENV)/installed-docs paper/results/results.csv.gz $(PAPER)
	@mkdir -p build/report
	$(BIN)/htsvm-paper report --profile hours --store paper/results/results.csv.gz \
		--output build/report/report.html
	cp build/report/report.html build/report/report.md docs

docs: $(VENV)/installed-docs docs/report.md
	$(BIN)/sphinx-build -W --keep-going -b html docs build/docs
	@echo "The site: build/docs/index.html"

docs-links: $(VENV)/installed-docs docs/report.md
	$(BIN)/sphinx-build -W --keep-going -b linkcheck -D plot_gallery=False docs build/linkcheck

docs-serve: docs
	$(BIN)/python -m http.server --directory build/docs 8000

# The wheel is tried in an environment without a compiler (CC=false) and without our sources.
wheel: $(VENV)/installed-dev
	rm -rf dist .venv-wheel
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv .venv-wheel
	CC=false .venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/htsvm-*.whl
	.venv-wheel/bin/python -I tests/smoke.py

bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks

bench-compare: $(VENV)/installed-bench
	@test -n "$(BASE)" || { echo "which commit? make bench-compare BASE=main"; exit 2; }
	$(BIN)/python -m benchmarks.compare $(BASE)

clean:
	rm -rf $(VENV) .venv-oldest .venv-wheel .venv-audit build dist docs/auto_examples docs/reference/generated docs/report.* src/*.egg-info paper/src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src/htsvm \( -name "*.c" -o -name "*.so" \) -delete; rm -rf htsvm-demo
