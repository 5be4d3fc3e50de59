# Two commands for a newcomer: `make demo` and `make test`. Both make their own environment in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EXTRAS ?= dev
comma := ,
STAMP := $(VENV)/.installed-$(subst $(comma),-,$(EXTRAS))
export OMP_NUM_THREADS ?= 1

.PHONY: help install demo test lint bench fixtures wheel clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[$(EXTRAS)]'
	touch $@

install: $(STAMP)  ## the environment, with EXTRAS (default: dev)

demo: $(STAMP)  ## several cameras into a graph, questions answered with citations
	$(BIN)/vgraph demo

test: $(STAMP)  ## lint, types and all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

lint: $(STAMP)  ## ruff and mypy, mending what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/mypy

bench: $(STAMP)  ## speed, as ratios within one run
	for file in bench/*.py; do $(BIN)/python $$file || exit 1; done

fixtures: $(STAMP)  ## real footage and model weights for the tests, into .fixtures/
	$(BIN)/python tests/fixtures.py --all

wheel: $(STAMP)  ## a wheel in dist/
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

clean:  ## remove what the targets made, not your data
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache
