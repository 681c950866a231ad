# Needs Python 3.11 or newer, make and git; everything else is installed into .venv. `make help` lists the targets.

MAKEFLAGS += --no-print-directory
SHELL := /bin/sh
# Without compiled files, each pytest process would compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE

# The first interpreter that is new enough; `make PYTHON=... venv` selects another.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)

VENV := .venv
RUN := $(VENV)/bin/python
JS := tests/clients/js
REHEARSAL_JS := packages/rehearsal-js
BIOME := $(JS)/node_modules/.bin/biome
# Arguments for the command: make run ARGS="--port 9000", make test ARGS="tests/sdk -k import".
ARGS ?=

.PHONY: help venv run test chaos fuzz parity check bench format generate translations clean client-deps client-libraries object-store package-runners browser proxies third-party

help: ## list all targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

venv: $(VENV)/.installed third-party ## create .venv with everything installed

$(VENV)/.installed: EXTRA := dev
$(VENV)/.installed-server: EXTRA := server
$(VENV)/.installed $(VENV)/.installed-server: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Hubbub requires Python 3.11 or newer. Name an interpreter: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(RUN) -m pip --version >/dev/null 2>&1 || { echo "Creating $(VENV) with $(PYTHON)"; $(PYTHON) -m venv --clear $(VENV); }
	@echo "Installing into $(VENV)"
	@$(RUN) -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable '.[$(EXTRA)]'
	@touch $@

third-party: ## fetch the third-party files of the chat client
	@$(PYTHON) tools/third_party.py

# Running needs the server packages only. An environment for development includes them.
run: $(firstword $(wildcard $(VENV)/.installed) $(VENV)/.installed-server) third-party ## start the demo platform
	@$(VENV)/bin/hubbub dev $(ARGS)

# Two workers per core: tests spend about half of their time waiting for I/O.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(8, 2 * (os.cpu_count() or 1)))')

# Tests share one PostgreSQL server and use one database each; loadgroup keeps tests of one xdist_group on one worker.
# Compiling first saves every worker and every started server the compilation.
test: venv client-deps client-libraries object-store package-runners browser ## run the whole test suite
	@$(RUN) -m compileall -q -j 0 src
	@$(RUN) -m pytest -q -n $(WORKERS) --dist loadgroup $(ARGS)

# Faults of several processes: broken networks, outages, wrong clocks, contention. CHAOS_ROUNDS=20 repeats all of them. Only this target
# checks time bounds, because a slow machine exceeds any (tests/time_bounds.py), and runs the tests with the mark `chaos`.
CHAOS_ROUNDS ?= 1
CALL_FAULTS := tests/web/test_large_calls.py tests/web/test_call_network.py
chaos: venv ## test faults of several processes, and large calls (CHAOS_ROUNDS=N repeats them)
	@for round in $$(seq $(CHAOS_ROUNDS)); do \
		echo "Round $$round of $(CHAOS_ROUNDS)"; \
		HUBBUB_TIME_BOUNDS=1 $(RUN) -m pytest -q -p no:cacheprovider tests/chaos tests/agent/test_program.py $(CALL_FAULTS) $(ARGS) || exit 1; \
	done

# Generated inputs for every interface: ARGS="--requests 20000 --targets http,gateway --seed 7" (docs/fuzzing.md).
fuzz: venv ## send generated inputs to every interface
	@$(RUN) -m tests.fuzz $(ARGS)

# The public OpenAPI description is not part of the repository; OPENAPI names a copy.
OPENAPI ?= $(wildcard ../shared/spec/openapi.json)
TRAFFIC := $(VENV)/.traffic
parity: venv ## compare with the public OpenAPI description and write docs/parity.md (OPENAPI=FILE)
	@test -n "$(OPENAPI)" || { echo "Name the public OpenAPI description: make parity OPENAPI=/path/to/openapi.json" >&2; exit 1; }
	@$(RUN) -m tests.contract.public_api "$(OPENAPI)"
	@rm -f $(TRAFFIC)
	@HUBBUB_TRAFFIC=$(TRAFFIC) $(RUN) -m pytest -q -n $(WORKERS) \
		--dist loadgroup -k "not postgres" $(addprefix tests/server/,identity places talk play) $(ARGS)
	@$(VENV)/bin/hubbub parity "$(OPENAPI)" --traffic $(TRAFFIC)

client-deps:
	@if ! command -v npm >/dev/null 2>&1 || ! node -e 'process.exit(Number(parseInt(process.versions.node) < 18))' 2>/dev/null; then \
		echo "Node.js 18 with npm not found: JavaScript checks and tests are skipped"; exit 0; \
	fi; \
	for folder in $(JS) $(REHEARSAL_JS); do \
		if [ -n "$$(find $$folder/package.json $$folder/package-lock.json $$folder/.npmrc \
				-newer $$folder/node_modules/.package-lock.json 2>&1)" ]; then \
			echo "Installing the npm packages of $$folder"; \
			(cd $$folder && npm install --no-audit --no-fund --no-save --loglevel=error >/dev/null && touch node_modules/.package-lock.json); \
		fi; \
	done

# Client libraries for Python that only the tests use. Each has its own environment, because several use the package name discord.
CLIENT_LIBRARIES := disnake[voice]==2.12.2 nextcord==2.6.0 py-cord[voice]==2.8.1 discord.py-interactions==5.16.0
client-libraries:
	@$(foreach library,$(CLIENT_LIBRARIES),$(call install_environment,$(library));)

# The S3-compatible object store of the tests, which has dependencies of its own.
object-store:
	@$(call install_environment,swift==2.38.3)

# Programs with which the npm package for tests in JavaScript starts a platform.
package-runners:
	@$(call install_environment,uv==0.13.8)
	@$(call install_environment,pipx==1.7.1)

define install_environment
library='$(1)'; folder=.venvs/$${library%%[[=]*}; \
	if [ "$$(cat $$folder/.installed 2>/dev/null)" != "$$library" ]; then \
		echo "Installing $$library into $$folder"; \
		if $(PYTHON) -m venv --clear $$folder \
			&& $$folder/bin/python -m pip install -qq --disable-pip-version-check "$$library"; then \
			echo "$$library" > $$folder/.installed; \
		else \
			echo "$$library cannot be installed: its tests are deselected"; rm -rf $$folder; \
		fi; \
	fi
endef

# Without a browser its tests are skipped, without a proxy its tests are deselected. `make test` does not install proxies, because their
# packages start services.
browser: ## install Chromium and Firefox for the browser tests (Debian, as root)
	@command -v chromium-browser >/dev/null 2>&1 || $(call install_program,chromium,chromium)
	@$(call install_program,chromium-headless-shell,chromium-headless-shell,browser tests take longer)
	@command -v firefox >/dev/null 2>&1 || $(call install_program,firefox-esr,firefox-esr)

proxies: ## install nginx, Caddy, the ClamAV daemon and faketime for the deployment and chaos tests (Debian, as root)
	@$(call install_program,nginx,nginx)
	@$(call install_program,caddy,caddy)
	@$(call install_program,clamd,clamav-daemon)
	@$(call install_program,faketime,faketime)

# Program, package, and what happens without it.
define install_program
if command -v $(1) >/dev/null 2>&1 || [ -x /usr/sbin/$(1) ]; then :; \
	elif command -v apt-get >/dev/null 2>&1 && [ "$$(id -u)" = 0 ]; then \
		echo "Installing $(1) for the tests"; \
		apt-get install -qq -y --no-install-recommends $(2) >/dev/null 2>&1 \
			|| { apt-get update -qq && apt-get install -qq -y --no-install-recommends $(2); } >/dev/null 2>&1 \
			|| echo "$(1) could not be installed: $(or $(3),its tests do not run)"; \
	else \
		echo "$(1) not found: $(or $(3),its tests do not run)"; \
	fi
endef

check: venv client-deps ## lint, types, imports, JavaScript, language
	@$(RUN) -m ruff check --quiet .
	@$(RUN) -m ruff format --quiet --check . || { echo "make format would change files" >&2; exit 1; }
	@$(RUN) -m mypy --no-error-summary
	@$(VENV)/bin/lint-imports --no-cache >$(VENV)/.lint-imports 2>&1 || { cat $(VENV)/.lint-imports >&2; exit 1; }
	@if [ -x $(BIOME) ]; then $(BIOME) format --reporter=summary . >$(VENV)/.biome 2>&1 && $(BIOME) lint --reporter=summary . >>$(VENV)/.biome 2>&1 \
		|| { cat $(VENV)/.biome >&2; exit 1; }; else echo "Biome not installed: JavaScript is not checked"; fi
	@$(MAKE) check-addresses
	@$(RUN) -m pytest -q -p no:cacheprovider $(addprefix tests/contract/test_,language.py citations.py imports.py) >$(VENV)/.language 2>&1 \
		|| { cat $(VENV)/.language >&2; exit 1; }

# The repository contains no package registry hosts and no paths of a single machine.
ADDRESSES := pythonhosted\.org|pypi\.org/simple|registry\.(npmjs|yarnpkg)|"resolved": *"|--(extra-)?index-url|find-links
PLACES := (^|[^A-Za-z0-9_.}>~-])/(root|work|workspace|home/[a-z][a-z0-9_-]*|Users/[A-Za-z]+)/
.PHONY: check-addresses
check-addresses:
	@! git rev-parse --git-dir >/dev/null 2>&1 || \
		! git grep --untracked -nIE -e '$(ADDRESSES)' -e '$(PLACES)' -- ':!Makefile' || \
		{ echo "These lines name a package registry or a path of one machine" >&2; exit 1; }

format: venv client-deps ## format Python and JavaScript
	@$(RUN) -m ruff check --quiet --fix .
	@$(RUN) -m ruff format --quiet .
	@if [ -x $(BIOME) ]; then $(BIOME) format --write . >/dev/null; fi

generate: venv ## write the JavaScript modules, types and the page of settings that come from the code
	@$(RUN) -m tests.contract.chat_client_modules
	@$(RUN) -m tools.control_client
	@$(RUN) -m tools.settings_reference
	@$(RUN) -m tools.personal_data

translations: venv ## extract the texts of pages, mail and client, and update the translations (ARGS="--add fr" adds one)
	@$(RUN) -m tools.translations $(ARGS)

bench: venv ## run the benchmarks: ratios against a reference in the same run
	@$(RUN) -m bench $(ARGS)

clean: ## remove everything that the other targets create
	@rm -rf src/hubbub/server/transports/web/static/third_party
	@rm -rf $(VENV) $(JS)/node_modules $(REHEARSAL_JS)/node_modules build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
