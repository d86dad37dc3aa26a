# Everything that is done with this project; `make` alone lists it.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

export PYTHON
export DATAHUB_TELEMETRY_ENABLED := false
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help quickstart setup fix check test test-fast test-cluster test-connect compat bench-hin bench-profile golden build clean prerequisites

help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Try it

quickstart: $(VENV)/.quickstart ## Install what is needed and find the joins of a lake of real tables
	@$(BIN)/datahub ingest -c ingestion_recipes/quickstart.yml

##@ Work on it

setup: $(VENV)/.dev ## Make the environment of all other targets

fix: $(VENV)/.dev ## Format, and mend what ruff can mend
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

# The two type checkers take longest, so they run side by side.
check: $(VENV)/.dev ## Check format, lint, names, layers and types; changes nothing
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/python .ci/check_names.py
	@$(BIN)/lint-imports
	@$(BIN)/pyright --pythonpath $(BIN)/python & pyright=$$!; \
		$(BIN)/mypy; mypy=$$?; wait $$pyright && exit $$mypy
	@printf 'Silenced: %s noqa, %s type: ignore\n' \
		"$$(git grep -E '# noqa' -- '*.py' | wc -l)" \
		"$$(git grep -E '# (type|pyright): ignore' -- '*.py' | wc -l)"

##@ Test it

test: $(VENV)/.dev ## Run every test in two processes, with branch coverage
	@OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder \
		--cov --cov-report=term-missing:skip-covered

test-fast: $(VENV)/.dev ## Run the tests that need no Spark
	@$(BIN)/pytest -m 'not spark and not slow'

# What is slow of them starts Spark by itself.
test-cluster: $(VENV)/.dev ## Run the tests that need Spark on a standalone cluster of two workers
	@HYPERJOIN_SPARK=standalone OMP_NUM_THREADS=1 $(BIN)/pytest -m 'spark and not slow'

test-connect: $(VENV)/.dev ## Run the tests that need Spark over a Spark Connect server
	@HYPERJOIN_SPARK=connect OMP_NUM_THREADS=1 $(BIN)/pytest -m 'spark and not slow'

compat: $(VENV)/.dev ## Run the tests of what DataHub sees with the oldest and older releases of it
	@.ci/compat 1.5.0.1 1.6.0 1.7.0.4

bench-hin: $(VENV)/.dev ## Time the network on lakes of 5,000 to 300,000 columns; a quarter of an hour
	@$(BIN)/python tests/benchmarks/bench_hin.py

bench-profile: $(VENV)/.dev ## Time profiling on lakes of 250 to 10,000 tables and on TPC-H, and a second run; some minutes
	@$(BIN)/python tests/benchmarks/bench_profile.py
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_tpch
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_tpch --scale 10 --rows 1000000
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_unchanged

golden: $(VENV)/.dev ## Rewrite the golden files; review the difference
	@HYPERJOIN_UPDATE_GOLDEN=1 $(BIN)/pytest tests/emit tests/evaluate/test_table.py
	@git diff --stat -- tests/emit/golden tests/evaluate/golden

##@ Ship it

build: $(VENV)/.dev ## Build sdist and wheel into dist/ and check what the wheel holds
	@rm -rf build dist
	@$(BIN)/python -m build
	@$(BIN)/python .ci/check_wheel.py dist/*.whl

clean: ## Remove what was built and computed; the environment stays
	@rm -rf build dist quickstart spark-warehouse metastore_db derby.log *.egg-info .coverage \
		.ruff_cache .mypy_cache .pytest_cache .import_linter_cache .hypothesis

prerequisites:
	@.ci/prerequisites

# $(call install,EXTRA): the stamps change with what they were made from, so nothing is installed twice.
define install
	@echo 'Installing into $(VENV); the first time takes minutes.'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq -c constraints.txt -e '.[$(1)]'
endef

$(VENV)/.quickstart: pyproject.toml constraints.txt | prerequisites
	$(call install,demo)
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | prerequisites
	$(call install,dev)
	@touch $@ $(VENV)/.quickstart
