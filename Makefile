PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := help
.PHONY: help install check format test

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(BIN)/.dev: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev --editable '.[local,parquet]'
	touch $@

install: $(BIN)/.dev  ## make .venv with simia, its light extras and the development tools

check: $(BIN)/.dev  ## lint, format, strict types, room borders
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(BIN)/.dev  ## rewrite the code in the house style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

test: $(BIN)/.dev  ## every test
	$(BIN)/pytest
