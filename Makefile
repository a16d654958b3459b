# make study · make test · make check · make bench. Each works as the first command in a clone, with
# Python 3.11 and make.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
# Of the training that ships, as the cards in models/ say.
SEED ?= 0

export PATH := $(CURDIR)/$(BIN):$(PATH)
export HF_HUB_OFFLINE := 1
export PYTHONNOUSERSITE := 1
# A default study needs no more; the small models are faster on one thread.
export OMP_NUM_THREADS ?= 1

.PHONY: help install study test check lint types fast bench report docs lock readers clean

help: ## Show this help
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(STAMP) ## Install the environment of envs/lock.txt into .venv

$(STAMP): envs/lock.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; v == (3, 11) or sys.exit("steadyread needs Python 3.11, found %d.%d: make install PYTHON=/path/to/python3.11" % v)'
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "Python has no venv module: on Debian, apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement envs/lock.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

study: install ## Run the default study: reports/default/summary.html
	snakemake

test: check ## Every test, and the real sample if its data is there
	python -m pytest -q -m "slow or workflow or realdata"

check: install lint types fast ## Lint, types and fast tests (3 minutes at most)

lint: install
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile workflow
	lint-imports
	python -m steadyread.config.generate --check

types: install
	mypy

fast: install
	python -m pytest -q -n 2 -m "not slow and not workflow and not realdata"

report: study ## Snakemake's own report of the default study
	snakemake --report reports/default/snakemake-report.zip

readers: install ## Train the phantom readers anew, minutes on two cores: results/phantom_readers/$(SEED)
	snakemake results/phantom_readers/$(SEED)

bench: install ## Ratios against peers: benchmarks/RESULTS.md says how to read them
	python -m benchmarks

docs: install ## Generate config/config.yaml, config/README.md and the JSON schemas
	python -m steadyread.config.generate

lock: ## Resolve pyproject.toml anew into envs/lock.txt and envs/environment.yaml
	rm -rf .work/lock && $(PYTHON) -m venv .work/lock
	.work/lock/bin/python -m pip install --quiet setuptools wheel
	.work/lock/bin/python -m pip install --quiet '.[dev,slurm]'
	.work/lock/bin/python envs/write_lock.py
	rm -rf .work/lock build

clean: ## Remove results and reports, not the environment
	rm -rf results/* reports/* .snakemake
