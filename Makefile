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

bench: .venv/.dev  ## the figures of benchmarks/RESULTS.md, short forms
	$(BIN)/python benchmarks/client.py
	$(BIN)/python benchmarks/persistence.py
	$(BIN)/python benchmarks/postprocess.py
	$(BIN)/python benchmarks/synthesis.py
	$(BIN)/python benchmarks/kill.py

clean:  ## remove the environments and the demo's run
	rm -rf .venv .venv-* $(DEMO)
