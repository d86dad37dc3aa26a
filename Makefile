# The tasks of this project; `make` alone lists them.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/tools
FAKESNOW := $(VENV)/fakesnow
ARCHIVE := $(VENV)/spark.jsa

export PYTHON
export DATAHUB_TELEMETRY_ENABLED := false
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests and commands start Python hundreds of times; without compiled modules, each start compiles them.
unexport PYTHONDONTWRITEBYTECODE

ARGS ?= --ablate --rivals

.DEFAULT_GOAL := help
.PHONY: help quickstart setup fakesnow fix check test test-long coverage test-fast test-cluster test-connect test-faults compat matrix bench-hin bench-profile bench-incremental bench-composite bench-rankings bench-roles bench-page bench-answers bench-costs bench-database bench-lake gallery same golden reference build audit licences clean prerequisites compiler

help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Try it

quickstart: $(VENV)/.quickstart ## Install the packages and find the joins of a lake of real tables
	@$(BIN)/datahub ingest -c ingestion_recipes/quickstart.yml

##@ Work on it

setup: $(VENV)/.dev fakesnow $(ARCHIVE) ## Make the environment that all other targets use

fakesnow: $(FAKESNOW)/.done ## Install the emulator of Snowflake, on which its tests run

fix: $(VENV)/.dev ## Format the code and apply the fixes of ruff
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

# Three processes keep two cores busy, since tests wait for servers, Java and timeouts.
test: $(VENV)/.dev $(FAKESNOW)/.done $(ARCHIVE) ## Run every test in three processes
	@OMP_NUM_THREADS=1 $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder

# Apart from `make test`, which tries 25 examples.
test-long: $(VENV)/.dev $(FAKESNOW)/.done $(ARCHIVE) ## Run the tests of properties with 400 examples each; a quarter of an hour
	@OMP_NUM_THREADS=1 $(BIN)/pytest -n 3 --dist loadfile -m hypothesis --hypothesis-profile thorough

# Apart from `make test`, since tracing makes the tests take half as long again.
coverage: $(VENV)/.dev ## Run every test and report the branches that none of them takes
	@OMP_NUM_THREADS=1 $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder \
		--cov --cov-report=term-missing:skip-covered

test-fast: $(VENV)/.dev ## Run the tests that need no Spark
	@$(BIN)/pytest -m 'not spark and not slow'

# The slow ones among them start Spark themselves.
test-cluster: $(VENV)/.dev ## Run the Spark tests on a standalone cluster of two workers
	@HYPERJOIN_SPARK=standalone OMP_NUM_THREADS=1 $(BIN)/pytest -m 'spark and not slow'

test-connect: $(VENV)/.dev ## Run the Spark tests through a Spark Connect server
	@HYPERJOIN_SPARK=connect OMP_NUM_THREADS=1 $(BIN)/pytest -m 'spark and not slow'

test-faults: $(VENV)/.dev ## Attack runs with kills, damaged inputs and failing servers; minutes, FAULTS=long for an hour
	@PYTHONPATH=tests $(BIN)/python -m faults $(if $(filter long,$(FAULTS)),--long) $(ONLY)

compat: $(VENV)/.dev ## Run the tests of what DataHub receives with each supported release
	@.ci/compat 1.5.0.1 1.6.0 1.7.0.4

matrix: compiler ## Run the fast tests with each Python from 3.10 to 3.13 that is installed
	@.ci/matrix 3.10 3.11 3.12 3.13

bench-hin: $(VENV)/.dev ## Time the network on lakes of 5,000 to 300,000 columns; a quarter of an hour
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_hin

bench-peers: $(VENV)/.dev ## Compare whole runs with exact containment in polars and DuckDB, also on LAKES="FOLDER ..."; ten minutes
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_peers --lakes $(LAKES)

bench-profile: $(VENV)/.dev ## Time profiling on lakes of 250 to 10,000 tables, and on TPC-H; minutes
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_profile
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_tpch
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_tpch --scale 10 --rows 1000000

bench-incremental: $(VENV)/.dev ## Measure what runs cost after few or no changes, on lakes of 250 and 500 tables; minutes
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_incremental
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_incremental --scale 10

bench-composite: $(VENV)/.dev ## Measure references of several columns on generated schemas, and list those of LAKES; minutes
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_composite $(LAKES)

bench-rankings: $(VENV)/.dev ## Measure rankings on LAKES="FOLDER ...", with ARGS also of variants and rivals; hours
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.evaluate $(LAKES) $(ARGS)

bench-roles: $(VENV)/.dev ## Measure references and their direction on LAKES="FOLDER ..." with references.csv; minutes
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_roles $(LAKES) $(ROLES)

bench-page: $(VENV)/.dev ## Time the page of 5,000 joins in Chromium; ARGS="--pictures FOLDER" takes screenshots; a minute
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_page $(ARGS)

bench-agents: $(VENV)/.dev ## Ask DataHub's MCP server (SERVER=COMMAND) for joins of LAKE=FOLDER, over DataHub's SCHEMA=FOLDER; minutes
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.agent_questions $(LAKE) --schema $(SCHEMA) --server $(SERVER) $(ARGS)

bench-answers: $(VENV)/.dev ## Ask our own server for agents sixty questions about three lakes (ARGS=--details); a minute
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_answers $(if $(filter command line,$(origin ARGS)),$(ARGS))

bench-costs: $(VENV)/.dev ## Measure processor time and memory of whole runs on 1,000 to 25,000 columns; a quarter of an hour
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_costs $(COSTS)

bench-database: $(VENV)/.dev ## Count what a database server sends for profiles of 300 tables; a quarter of an hour
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_database $(ARGS)

bench-lake: $(VENV)/.dev ## Measure whole runs on 1,000 to 50,000 tables by stages, or LAKE="--tables N ..."; an hour
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.bench_lake $(LAKE)

same: $(VENV)/.dev ## Compare what this code and that of BASE=COMMIT find and write, also in LAKES="FOLDER ..."; minutes
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.same $(BASE) $(LAKES)

gallery: $(VENV)/.dev ## Find the joins of three lakes for docs/gallery.md, and take its pictures; two minutes
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.gallery

golden: $(VENV)/.dev ## Rewrite the golden files; review the difference
	@HYPERJOIN_UPDATE_GOLDEN=1 $(BIN)/pytest tests/emit tests/evaluate/test_table.py tests/export tests/test_notebook.py
	@git diff --stat -- tests/emit/golden tests/evaluate/golden tests/export/golden docs/first_joins.ipynb

reference: $(VENV)/.dev ## Rewrite the reference of recipe keys and their JSON schema in docs/
	@$(BIN)/python .ci/reference.py

##@ Ship it

build: $(VENV)/.dev $(TOOLS)/.done ## Build archives and a bill of materials into dist/ and check them
	@rm -rf build dist
	@$(BIN)/python -m build
	@$(BIN)/python .ci/check_dist.py dist
	@$(TOOLS)/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml \
		--mc-type library --output-reproducible -o dist/datahub-hyperjoin.cdx.json

# pip-audit passes packages that it finds no data about; --strict fails instead. The index has no
# data about builds for one processor, such as 2.1+cpu.
audit: $(VENV)/.dev $(TOOLS)/.done ## Compare the tested versions with known vulnerabilities
	@$(BIN)/python -m pip freeze -qq --exclude-editable | sed 's/+.*//' > $(TOOLS)/versions.txt
	@$(TOOLS)/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off \
		-r $(TOOLS)/versions.txt

licences: $(VENV)/.dev $(TOOLS)/.done ## List the licences of all installed packages
	@$(TOOLS)/bin/pip-licenses --python $(BIN)/python --order license

clean: ## Remove built and computed files, but not the environment
	@rm -rf build dist quickstart spark-warehouse metastore_db derby.log *.egg-info .coverage \
		.ruff_cache .mypy_cache .pytest_cache .import_linter_cache .hypothesis

prerequisites:
	@.ci/prerequisites

compiler:
	@.ci/prerequisites compiler

# $(call install,EXTRA): a stamp is newer than the files it was made from, so `make` installs once.
# The pip that comes with an older Python takes over twice as much processor time as this one.
# pip would compile 20,000 modules on one core; compileall uses all, which saves a minute of three.
# Nearly a third of their text is tests of libraries and models that nothing here loads.
define install
	@echo 'Installing into $(VENV); the first time takes minutes.'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq -c constraints.txt pip
	@$(BIN)/python -m pip install -qq --no-compile -c constraints.txt -e '.[$(1)]'
	@PYTHONWARNINGS=ignore $(BIN)/python -m compileall -qq -j 0 \
		-x '/tests?/|/transformers/models/' $(VENV)/lib || true
endef

$(VENV)/.quickstart: pyproject.toml constraints.txt | prerequisites
	$(call install,demo)
	@touch $@

# An environment of their own, since only a release needs them.
$(TOOLS)/.done: | $(VENV)/.dev
	@$(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install -qq \
		cyclonedx-bom==7.5.0 pip-audit==2.10.1 pip-licenses==5.5.5
	@touch $@

# An environment of its own, since it needs another sqlglot than DataHub, and Python from 3.11 on.
$(FAKESNOW)/.done: | prerequisites
	@$(PYTHON) -m venv $(FAKESNOW)
	@if $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		$(FAKESNOW)/bin/python -m pip install -qq \
			'fakesnow[server]==0.12.1' duckdb==2.0.1 snowflake-connector-python==4.8.1 'sqlglot[c]==30.22.0'; \
	fi
	@touch $@

# Without the archive, tests only take longer.
$(ARCHIVE): $(VENV)/.dev
	@PYSPARK_PYTHON=$(BIN)/python $(BIN)/spark-submit \
		--driver-java-options '-XX:ArchiveClassesAtExit=$@ -Xlog:disable' \
		tests/services/java_archive.py 2> /dev/null || true

$(VENV)/.dev: pyproject.toml constraints.txt | compiler
	$(call install,dev)
	@touch $@ $(VENV)/.quickstart
