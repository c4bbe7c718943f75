# Every target works on its own on a machine with Python >= 3.11, make and a C compiler: it makes
# the environment .venv, installs what it needs, and does its job. `make PYTHON=python3.13 test`
# chooses another interpreter (after `make clean`).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# What an installation depends on: a change of any of these installs (and compiles) again.
SOURCES := pyproject.toml setup.py $(shell find src/htsvm -name "*.pyx" -o -name "*.pxd" -o -name "*.h")

# Tests and benchmarks on larger data look here; without the folder they skip.
ifneq ($(wildcard ../shared/data),)
export HTSVM_DATA ?= $(abspath ../shared/data)
endif

.DEFAULT_GOAL := help
.PHONY: help demo reproduce test test-slow bench lint format clean

help:
	@echo "make demo       compare HTSVC with its rivals on noisy labels, then a quick version of the"
	@echo "                paper's experiments; writes htsvm-demo.html and htsvm-quick.html"
	@echo "make reproduce  all of the paper's tables and figures, in hours; writes htsvm-report.html"
	@echo "make test       lint, type check and test"
	@echo "make test-slow  the long tests"
	@echo "make bench      speed and memory beside scikit-learn's classifiers"
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
	@$(PIP_INSTALL) -e ".[$*]"
	@touch $@

demo: $(VENV)/installed-experiments
	$(BIN)/htsvm demo
	$(BIN)/htsvm reproduce --quick --store htsvm-quick.sqlite
	$(BIN)/htsvm report --quick --store htsvm-quick.sqlite --output htsvm-quick.html

reproduce: $(VENV)/installed-experiments
	$(BIN)/htsvm reproduce
	$(BIN)/htsvm report

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

bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src/htsvm \( -name "*.c" -o -name "*.so" \) -delete; rm -f htsvm-demo.html htsvm-quick.*
