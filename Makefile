# Every target makes the environment it needs, keyed on pyproject.toml; after that it works offline.
#   PYTHON  the interpreter for a new environment    VENV  where it is
#   DJANGO  a requirement, such as Django~=6.0.0     ARGS  passed on, to pytest for instance

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV ?= .venv
DIST ?= dist

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest
WITH_SERVERS := $(BIN)/python -m tests.servers exec --
ON_POSTGRES := DYNCRON_TEST_DATABASE=postgres

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow tutorial chaos browser deploy-check pictures test-matrix lint format contracts types migrations messages public-api snapshot docs bench wheel

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 14

$(VENV)/.installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=…" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade 'pip>=25.1'
	$(PIP) --editable '.[redis,postgres]' $(DJANGO)
	touch $@

$(VENV)/.group-%: $(VENV)/.installed
	$(PIP) --group $*
	touch $@

.PRECIOUS: $(VENV)/.group-%

demo: $(VENV)/.installed ## run the sample project: admin on 127.0.0.1:8000, and the scheduler
	$(BIN)/python testproject/manage.py demo $(ARGS)

test: $(VENV)/.group-test ## run the tests: all on SQLite, and those under tests/django on PostgreSQL too
	VENV=$(VENV) .ci/test $(ARGS)

test-slow: $(VENV)/.group-test ## run the tests that take real time
	$(WITH_SERVERS) $(PYTEST) -m 'slow and not chaos and not browser' $(ARGS)

tutorial: $(VENV)/.group-test ## type the tutorial, as printed, in an empty directory
	$(PYTEST) tests/docs/test_tutorial.py -m slow $(ARGS)

chaos: $(VENV)/.group-test ## run the tests that kill processes, servers and connections
	$(WITH_SERVERS) $(PYTEST) tests/chaos -m '' -s $(ARGS)

browser: $(VENV)/.group-browser ## run the tests in a real browser: Debian's chromium, or the one named by CHROMIUM
	$(PYTEST) tests/browser -m browser $(ARGS)

deploy-check: $(VENV)/.group-deploy ## check the files under deploy and run their commands, without Docker or Kubernetes
	$(PYTEST) tests/deploy -m deploy $(ARGS)

pictures: $(VENV)/.group-browser ## take the screenshots of the documentation anew
	$(BIN)/python -m tests.browser.pictures

test-matrix: ## run the tests with every interpreter found
	.ci/matrix

lint: $(VENV)/.group-lint ## check the style
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: $(VENV)/.group-lint ## repair the style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

contracts: $(VENV)/.group-lint ## check the direction of imports
	$(BIN)/lint-imports --no-logo --no-cache

types: $(VENV)/.group-types ## check the types
	$(BIN)/mypy

migrations: $(VENV)/.group-test ## check that no migration is missing, on SQLite and on PostgreSQL
	$(BIN)/python -m django makemigrations --check --dry-run --settings tests.settings
	$(ON_POSTGRES) $(WITH_SERVERS) $(BIN)/python -m django makemigrations --check --dry-run --settings tests.settings

messages: $(VENV)/.group-test ## bring the translations up to date and compile them; ARGS=fr begins French
	$(BIN)/python -m tests.messages $(ARGS)

public-api: $(VENV)/.group-test ## write down what users may rely on, after a change that was meant
	DJANGO_SETTINGS_MODULE=tests.settings $(BIN)/python -m tests.public_api

snapshot: $(VENV)/.group-test ## record the schema of this version, for the tests of upgrades from it
	DJANGO_SETTINGS_MODULE=tests.settings $(BIN)/python -m tests.upgrades
	DJANGO_SETTINGS_MODULE=tests.settings $(ON_POSTGRES) $(WITH_SERVERS) $(BIN)/python -m tests.upgrades

docs: $(VENV)/.group-docs ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -n -q -b html docs docs/_build/html

bench: ## run the benchmarks beside their peers, in an environment of their own; PART=schedule runs one
	$(MAKE) VENV=.venv-bench run-benchmarks

.PHONY: run-benchmarks
run-benchmarks: $(VENV)/.group-test $(VENV)/.peers
	for part in $(or $(PART),$(patsubst benchmarks/%.py,%,$(wildcard benchmarks/[a-z]*.py))); do \
		$(BIN)/python -m benchmarks.$$part $(ARGS) || exit 1; done

$(VENV)/.peers: $(VENV)/.installed benchmarks/requirements.txt
	$(PIP) --requirement benchmarks/requirements.txt
	touch $@

import-data: ## make the tables that the import is tested with anew, by their own software; ARGS=--check compares
	$(MAKE) VENV=.venv-beat run-import-data

.PHONY: import-data run-import-data
run-import-data: $(VENV)/.beat
	$(BIN)/python -W error -m tests.importing $(ARGS)

$(VENV)/.beat: tests/importing/requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --requirement tests/importing/requirements.txt
	touch $@

wheel: $(VENV)/.group-wheel ## build the sdist and, from it, the wheel
	$(BIN)/python -m build --outdir $(DIST)
