# make run            the app on the bundled pair; options go in ARGS: make run ARGS="--k 2 --temperature 0.7"
# make test           everything CI checks
# PYTHON=python3.12   the interpreter the environment is made with
# VENV=DIR            where the environment lives

PYTHON ?= python3
VENV ?= .venv
ARGS ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
APP := $(VENV)/.app-installed
DEV := $(VENV)/.dev-installed

.DEFAULT_GOAL := help
.PHONY: help run install dev test quick lint types arrows tests format wheel clean

# Packages that are tested without a model and without a running app.
QUICK := $(wildcard $(addprefix tests/,core maths stats trace bench lab session breakpoints render export))

help:
	@echo "make run      start specviz on the bundled pair (ARGS=\"--k 2\" passes options)"
	@echo "make test     lint, types, import arrows, tests"
	@echo "make quick    lint, and the tests that need neither torch nor a running app: well under a minute"
	@echo "make lint | types | arrows | tests    one of them (ARGS=\"-k trace\" passes options to pytest)"
	@echo "make format   put the code in shape"
	@echo "make wheel    build dist/specviz_llm-*.whl"
	@echo "make clean    remove $(VENV) and everything built"

run: $(APP)
	@$(BIN)/specviz $(ARGS)

install: $(APP)

dev: $(DEV)

test: lint types arrows tests

quick: lint
	$(BIN)/python -m pytest -q -n 2 --no-torch $(QUICK) $(ARGS)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)
	$(BIN)/mypy --strict

arrows: $(DEV)
	$(BIN)/lint-imports --no-cache

tests: $(DEV)
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal $(ARGS)

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(DEV)
	$(BIN)/python -m build --wheel --no-isolation

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "specviz needs Python 3.11 or later, and \"$(PYTHON)\" is not: name another, as in make PYTHON=python3.12 run." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "\"$(PYTHON)\" cannot make virtual environments: install its venv package (on Debian and Ubuntu: python3-venv)." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(APP): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing specviz into $(VENV). This happens once and downloads torch, transformers, textual and what they need:"
	@echo "about 300 MB (1.5 GB on disk) with a CPU build of torch; on Linux the torch of PyPI brings CUDA libraries, several GB."
	@echo "The demo pair is already here: nothing is downloaded after this."
	$(PIP) install --quiet -c constraints.txt -e .
	@touch $@

$(DEV): $(APP)
	@echo "Installing the development tools into $(VENV): pytest, ruff, mypy and others, under 100 MB."
	$(PIP) install --quiet -c constraints.txt -e '.[dev]'
	@touch $@
