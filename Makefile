# Needs Python 3.11 or newer, make and git; everything else is installed into .venv. `make help` lists the targets.

MAKEFLAGS += --no-print-directory
SHELL := /bin/sh

# The first of these that runs and is new enough; `make PYTHON=... venv` takes another.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)

VENV := .venv
RUN := $(VENV)/bin/python
JS := tests/clients/js
# More words for the command: make run ARGS="--port 9000", make test ARGS="tests/sdk -k import".
ARGS ?=

.PHONY: help venv run test parity check bench format clean client-deps browser

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

venv: $(VENV)/.installed ## make .venv with everything installed

$(VENV)/.installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Hubbub needs Python 3.11 or newer; make PYTHON=/path/to/python names one." >&2; exit 1; }
	@$(RUN) -m pip --version >/dev/null 2>&1 || { echo "making $(VENV) with $(PYTHON)"; $(PYTHON) -m venv --clear $(VENV); }
	@echo "installing into $(VENV)"
	@$(RUN) -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

run: venv ## start the demo platform
	@$(VENV)/bin/hubbub dev $(ARGS)

# Two for each core, since a test waits about as long as it works.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(8, 2 * (os.cpu_count() or 1)))')

# Tests share one PostgreSQL and have a database each, so they run on all cores; loadgroup keeps xdist_group together.
# Compiled once before, and kept: else each worker and each server that a test starts compiles everything anew.
test: venv client-deps ## run the whole test suite
	@$(RUN) -m compileall -q -j 0 src
	@PYTHONDONTWRITEBYTECODE= $(RUN) -m pytest -q -n $(WORKERS) --dist loadgroup $(ARGS)

# The public description is nobody's to copy: it is read where it lies.
OPENAPI ?= $(wildcard ../shared/spec/openapi.json)
TRAFFIC := $(VENV)/.traffic
parity: venv ## write docs/parity.md: what of the public API is served and tested (OPENAPI=FILE names it)
	@test -n "$(OPENAPI)" || { echo "make OPENAPI=/path/to/openapi.json parity names the public description" >&2; exit 1; }
	@rm -f $(TRAFFIC)
	@HUBBUB_OPENAPI="$(abspath $(OPENAPI))" HUBBUB_TRAFFIC=$(TRAFFIC) $(RUN) -m pytest -q -n $(WORKERS) \
		--dist loadgroup -k "not postgres" tests/server/resources $(ARGS)
	@$(VENV)/bin/hubbub parity "$(OPENAPI)" --traffic $(TRAFFIC)

client-deps:
	@if ! command -v npm >/dev/null 2>&1 || ! node -e 'process.exit(Number(parseInt(process.versions.node) < 18))' 2>/dev/null; then \
		echo "no node 18 with npm here: the discord.js tests are skipped"; \
	elif [ -n "$$(find $(JS)/package.json $(JS)/package-lock.json $(JS)/.npmrc \
			-newer $(JS)/node_modules/.package-lock.json 2>&1)" ]; then \
		echo "installing discord.js for its tests"; \
		cd $(JS) && npm install --no-audit --no-fund --no-save --loglevel=error >/dev/null && touch node_modules/.package-lock.json; \
	fi

# For the tests of pages; where there is no chromium they are skipped and say so.
browser: ## install chromium for the tests of pages, where that is possible
	@if command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1; then :; \
	elif command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
		echo "installing chromium for the tests of pages"; \
		apt-get install -qq -y --no-install-recommends chromium >/dev/null 2>&1 \
			|| { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; } >/dev/null 2>&1 \
			|| echo "chromium could not be installed: the tests of pages are skipped"; \
	else \
		echo "no chromium here, and no way to install it: the tests of pages are skipped"; \
	fi

check: venv ## lint, types, import rules
	@$(RUN) -m ruff check --quiet .
	@$(RUN) -m ruff format --quiet --check . || { echo "make format would change files" >&2; exit 1; }
	@$(RUN) -m mypy --no-error-summary
	@$(VENV)/bin/lint-imports --no-cache >$(VENV)/.lint-imports 2>&1 || { cat $(VENV)/.lint-imports >&2; exit 1; }
	@$(MAKE) check-addresses

# Nobody's package registry and nobody's machine belongs in the repository.
ADDRESSES := pythonhosted\.org|pypi\.org/simple|registry\.(npmjs|yarnpkg)|"resolved": *"|--(extra-)?index-url|find-links
PLACES := (^|[^A-Za-z0-9_.}>~-])/(root|work|workspace|home/[a-z][a-z0-9_-]*|Users/[A-Za-z]+)/
.PHONY: check-addresses
check-addresses:
	@! git rev-parse --git-dir >/dev/null 2>&1 || \
		! git grep --untracked -nIE -e '$(ADDRESSES)' -e '$(PLACES)' -- ':!Makefile' || \
		{ echo "the lines above name a registry or a place on one machine" >&2; exit 1; }

format: venv ## let ruff arrange the code
	@$(RUN) -m ruff check --quiet --fix .
	@$(RUN) -m ruff format --quiet .

bench: venv ## measure, as ratios against a reference in the same run
	@$(RUN) -m bench $(ARGS)

clean: ## remove what the other targets made
	@rm -rf $(VENV) $(JS)/node_modules build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
