# notifyops. `make up` runs it, `make test` proves it; every target sets up what it needs from a clean clone.

ROOT := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
BUILD := $(ROOT)/.build
VENV ?= $(ROOT)/.venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.notifyops-lock
LOCK := $(ROOT)/deploy/requirements-dev.txt
# The first interpreter that is new enough and really runs; version managers leave names that do not.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
CODE := $(foreach d,notifyops notifications reviews tests bench,$(if $(shell find $(ROOT)/$(d) -name '*.py' -print -quit 2>/dev/null),$(d)))
PYTEST = cd $(ROOT) && exec $(PY) -m pytest
# Tests run beside each other on as many processes; two suit the smallest machine that we promise to work on.
JOBS ?= 2
# The order of the tests is mixed, and the same on every machine, so that a red run says something about the change;
# SEED=7 mixes it another way.
SEED ?= 1

MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
export LC_ALL := C.UTF-8
export PYTHONUTF8 := 1
export PYTHONDONTWRITEBYTECODE :=
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
export PLAYWRIGHT_BROWSERS_PATH := $(BUILD)/browsers
export NODE_PATH := $(BUILD)/node/node_modules
export npm_config_cache := $(BUILD)/npm
unexport DJANGO_SETTINGS_MODULE
unexport PYTHONPATH

.PHONY: up test quick lint bench simulate safeguards screenshots test-matrix lock venv browser node-pg faketime mta
.DEFAULT_GOAL := up

up: venv ## Run everything in the foreground until Ctrl-C.
	@cd $(ROOT) && exec $(PY) -u -m notifyops.supervisor

test: venv browser node-pg faketime mta ## Run every test.
	@$(PYTEST) -n $(JOBS) --randomly-seed=$(SEED) $(ARGS)

quick: venv ## Run the tests that need no browser and no long-lived processes.
	@$(PYTEST) -q -n $(JOBS) --randomly-seed=$(SEED) -m "not slow" $(ARGS)

lint: venv ## Check form, types, sizes and import directions.
	@cd $(ROOT) && $(PY) -m ruff check manage.py $(CODE)
	@cd $(ROOT) && $(PY) -m ruff format --check manage.py $(CODE)
	@cd $(ROOT) && NOTIFYOPS_SECRET_KEY=only-for-reading-the-settings-here $(PY) -m mypy --strict manage.py $(CODE)
	@cd $(ROOT) && $(PY) -m pytest -q --noconftest tests/architecture
	@echo "lint: ok"

bench: venv ## Measure; BENCH="--json" and the like are handed on.
	@cd $(ROOT) && exec $(PY) -m bench $(BENCH)

# Schedules of the simulation, and the first seed: the tests play those below 300.
N ?= 1000
FIRST ?= 300

simulate: venv ## Play N schedules of seeds that the tests do not play; a seed that fails is kept in a file.
	@export NOTIFYOPS_TEST_SCHEDULES=$(N) NOTIFYOPS_TEST_FIRST_SEED=$(FIRST); $(PYTEST) -q tests/simulation/search.py $(ARGS)

safeguards: venv ## Remove each safeguard, show that the simulation notices, and write the table of it into the docs.
	@$(PYTEST) -q -n $(JOBS) tests/simulation/removals.py $(ARGS)

screenshots: venv browser ## Play the browser journeys, print what they took, keep their pictures, renew those of the docs.
	@rm -rf $(BUILD)/screenshots && mkdir -p $(BUILD)/screenshots
	@cd $(ROOT) && NOTIFYOPS_TEST_SCREENSHOTS=$(BUILD)/screenshots $(PY) -m pytest -q tests/browser $(ARGS)
	@cp $(BUILD)/screenshots/docs/*.png $(ROOT)/docs/images/
	@echo "screenshots: $$(find $(BUILD)/screenshots -name '*.png' | wc -l) pictures in .build/screenshots"

test-matrix: ## Run every test on each Python that is present.
	@ran=""; for p in 3.11 3.12 3.13 3.14; do \
		"python$$p" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$$p')" 2>/dev/null || continue; \
		echo "== Python $$p"; ran="$$ran $$p"; \
		$(MAKE) -f $(ROOT)/Makefile test VENV=$(BUILD)/venv-$$p PYTHON=python$$p || { echo "test-matrix: failed on Python $$p"; exit 1; }; \
	done; [ -n "$$ran" ] || { echo "test-matrix: there is no Python from 3.11 to 3.14 on PATH"; exit 1; }; \
	echo "test-matrix: passed on Python$$ran"

lock: venv ## Choose the newest allowed versions and pin them with hashes; no address is written.
	@cd $(ROOT)/deploy && for set in requirements requirements-dev; do \
		$(PY) -m uv pip compile -q --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
			--no-header $$([ $$set = requirements ] || echo "-c requirements.txt") $$set.in -o $$set.txt || exit 1; done
	@! grep -nEi 'https?://|--index|file:' $(ROOT)/deploy/requirements*.txt
	@echo "lock: $$(grep -c == $(LOCK)) packages in deploy/requirements-dev.txt"

venv: $(STAMP)

$(STAMP): $(LOCK)
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11 or newer is needed and none is on PATH: install it, or name one: make PYTHON=/path/to/python"; exit 1; }
	@echo "First start, two steps, once: 1. a virtual environment and the locked dependencies, some minutes; 2. the database, seconds."
	@echo "  1. Installing the locked dependencies into $(VENV): one to five minutes, by the speed of the network ..."
	@# A folder that is there may be half made, without pip, or of an older Python: only one that works is kept.
	@$(PY) -c 'import sys, pip; sys.exit(sys.version_info < (3, 11) or sys.prefix == sys.base_prefix)' 2>/dev/null \
		|| $(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null && $(PYTHON) -m venv --clear $(VENV); } \
		|| { echo "$(PYTHON) cannot make a virtual environment: install its venv module (Debian: python3-venv)"; exit 1; }
	@$(PY) -m pip install -q --require-hashes -r $(LOCK) \
		|| { echo "The locked dependencies could not be installed: is the package registry within reach?"; exit 1; }
	@touch $(STAMP)
	@echo "  1. is done."

# One browser will do: a Chrome or Chromium that is here, Debian's, or Playwright's own.
browser: venv
	@for b in chromium chromium-browser google-chrome google-chrome-stable; do command -v $$b >/dev/null && exit 0; done; \
	ls $(BUILD)/browsers/chromium*/INSTALLATION_COMPLETE >/dev/null 2>&1 && exit 0; \
	echo "Installing a browser for the tests ..."; mkdir -p $(BUILD); \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq >/dev/null 2>&1; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >$(BUILD)/browser.log 2>&1 && exit 0; fi; \
	$(PY) -m playwright install chromium >>$(BUILD)/browser.log 2>&1 && exit 0; \
	echo "The tests need a browser and none could be had: install Chromium or Chrome (see .build/browser.log)"; exit 1

# The recipe for callers in JavaScript is tested with the driver that they use.
node-pg:
	@[ -d $(NODE_PATH)/pg ] && exit 0; \
	command -v node >/dev/null && command -v npm >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
		&& apt-get update -qq >/dev/null 2>&1; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null 2>&1; }; \
	command -v npm >/dev/null || { echo "The tests need Node.js with npm and neither could be had: install nodejs and npm"; exit 1; }; \
	mkdir -p $(BUILD)/node; \
	[ -f "$$HOME/.npmrc" ] || export npm_config_userconfig="$$(getent passwd "$$(id -u)" | cut -d: -f6)/.npmrc"; \
	npm install --silent --no-audit --no-fund --fetch-retries=1 --fetch-timeout=30000 --prefix $(BUILD)/node pg >$(BUILD)/node.log 2>&1 && exit 0; \
	echo "Node's package pg could not be installed: is the package registry within reach? (see .build/node.log)"; exit 1

# A host whose clock is wrong is played by libfaketime.
faketime:
	@ls /usr/lib/*/faketime/libfaketime.so.1 /usr/lib/faketime/libfaketime.so.1 /usr/lib64/faketime/libfaketime.so.1 2>/dev/null | grep -q . && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq >/dev/null 2>&1; \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libfaketime >/dev/null 2>&1 && exit 0; fi; \
	echo "The tests need libfaketime and it could not be had: install it (Debian: libfaketime)"; exit 1

# SMTP is tried against a mail server that installations run: unpacked here, not installed. Without one the tests say so.
mta:
	@command -v chasquid >/dev/null || [ -x $(BUILD)/mta/usr/bin/chasquid ] && exit 0; \
	command -v apt-get >/dev/null && command -v dpkg >/dev/null || exit 0; \
	[ "$$(id -u)" != 0 ] || apt-get update -qq >/dev/null 2>&1; \
	mkdir -p $(BUILD)/mta && cd $(BUILD)/mta && apt-get download -qq chasquid >/dev/null 2>&1 \
		&& dpkg -x chasquid_*.deb . && rm -f chasquid_*.deb; exit 0
