# One entrance. Everything is built with one profile, so that `make test` after `make demo` compiles no
# dependency again.

CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto
# CI builds outside the clone, so that the next run finds the dependencies compiled.
ifdef CI
export CARGO_TARGET_DIR ?= $(HOME)/.cache/atsdb/target
endif
BUILT := $(or $(CARGO_TARGET_DIR),target)
# More flags for cargo; .ci/python and .ci/install read them from the environment.
export CARGO_FLAGS ?=
ATSDB := $(BUILT)/release/atsdb
MDBOOK_VERSION := 0.5.4
MDBOOK := $(or $(wildcard $(BUILT)/mdbook/bin/mdbook),mdbook)

.PHONY: help setup servers clickhouse timeseries clients senders browser build extension demo docs docs-test test postgres-parity fuzz simulate soak \
	format lint doc unit unit-programs beside-unit \
	extension-tests python-test go-test wheel install-test deb deb-test adbc adbc-test \
	measure-python measure-extension measure-go measure-static clean

help: ## List what make can do
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

setup: ## Check what is needed to build, and say how to get it
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install a Rust toolchain, 1.95 or later" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "a C compiler is missing: apt-get install gcc libc6-dev" >&2; exit 1; }

servers: ## Get DuckDB, MariaDB, PostgreSQL, Prometheus, sqlite3 and Datasette for tests, where pip and apt-get may install them
	@.ci/servers $(BUILT)/duckdb $(BUILT)/datasette

clickhouse: ## Get ClickHouse's library, for the lab, and its tests with ATSDB_TEST_CONTESTANTS=all
	@.ci/servers $(BUILT)/duckdb $(BUILT)/datasette $(BUILT)/chdb

timeseries: ## Get QuestDB, InfluxDB and VictoriaMetrics, for the lab, and its tests with ATSDB_TEST_CONTESTANTS=all
	@.ci/servers $(BUILT)/duckdb $(BUILT)/datasette '' $(BUILT)/questdb

clients: ## Get clients in Python, Go, JavaScript, Java, Perl, Ruby, PHP and ODBC for the server's tests, where their package managers are there
	@.ci/clients $(abspath $(BUILT))/clients

senders: ## Get telemetrygen, Telegraf and TSBS for the server's tests, which takes Go minutes
	@.ci/clients $(abspath $(BUILT))/clients senders

browser: ## Get Chromium for the test of the server's page, where apt-get has it
	@.ci/browser

build: setup ## Build the atsdb program, optimised
	$(CARGO) build $(CARGO_FLAGS) --release

extension: setup ## Build atsdb.so, which programs that speak to SQLite load to read a store
	cd sqlite-extension && CARGO_TARGET_DIR=$(abspath $(BUILT)) $(CARGO) build --release --locked
	@cp $(BUILT)/release/libatsdb_sqlite_extension.so $(BUILT)/release/atsdb.so
	@echo "the extension: $(BUILT)/release/atsdb.so"

demo: build ## Show the main job: import a year of weather and a month of round trips into one SQLite file, measure, query and draw them
	@$(ATSDB) demo examples/weather.csv.gz

docs: ## Build this documentation as a site with search, by mdBook
	@command -v $(MDBOOK) >/dev/null || { echo "mdbook is missing: cargo install mdbook --locked --version $(MDBOOK_VERSION) --root $(BUILT)/mdbook" >&2; exit 1; }
	@command -v python3 >/dev/null || { echo "python3 is missing: apt-get install python3" >&2; exit 1; }
	$(MDBOOK) build docs --dest-dir $(abspath $(BUILT))/book
	@echo "the site: $(BUILT)/book/index.html"

docs-test:
	@if command -v $(MDBOOK) >/dev/null && command -v python3 >/dev/null; then \
		$(MAKE) --no-print-directory docs; \
	else \
		echo "the site is not built: mdbook or python3 is missing; make docs says how to get them" >&2; \
	fi

# What is built of the workspace for it compiles the project's own crates lightly. Tests mostly wait, and compiling never
# does, so once the test programs are built, they run while everything else is compiled and checked.
test: override CARGO_FLAGS += --config $(abspath .ci/light.toml)
test: setup servers clients browser format unit-programs ## Run everything that CI checks
	@$(MAKE) --no-print-directory --jobs=2 CARGO_FLAGS="$(CARGO_FLAGS)" unit beside-unit

# One after the other, and nicely: a test that waits for an answer goes first. What fails keeps nothing else from being tried.
beside-unit:
	@failed=; for step in docs-test lint doc extension-tests python-test go-test adbc-test install-test deb-test; do \
		nice $(MAKE) --no-print-directory $$step || failed="$$failed $$step"; \
	done; [ -z "$$failed" ] || { echo "what failed:$$failed" >&2; exit 1; }

python-test: setup ## Build the package for Python, install it into an environment of its own, and test it
	@.ci/python test $(abspath $(BUILT))

go-test: build ## Check the package for Go: format, vet, and tests with the race detector against the program
	@.ci/go $(abspath $(ATSDB))

wheel: setup ## Build the package for Python, with the program inside, for pip install
	@.ci/python wheel $(abspath $(BUILT))

install-test: build
	@CARGO="$(CARGO)" .ci/install $(abspath $(BUILT))

deb: build ## Build a Debian package: the program, man pages, completions, a service for systemd
	@.ci/deb build $(abspath $(BUILT))

deb-test: build
	@.ci/deb test $(abspath $(BUILT))

# With the program, so that nothing below the driver is compiled again for it.
adbc: setup ## Build libadbc_driver_atsdb.so, which the ADBC driver managers of C, Go, Python and R load
	$(CARGO) build $(CARGO_FLAGS) --release --locked -p atsdb-cli -p atsdb-adbc
	@echo "the driver: $(BUILT)/release/libadbc_driver_atsdb.so"

adbc-test: adbc ## Test the ADBC driver in the driver managers of Python, Go and R
	@.ci/adbc $(abspath $(BUILT))

# The figures of the documentation's pages. Nothing else should run on the machine.
measure-python: setup ## Measure the package for Python beside those of DuckDB and SQLite, as in docs/python.md: ROWS=10_000_000
	@.ci/python measure $(abspath $(BUILT)) $(or $(ROWS),10_000_000)

measure-extension: build extension ## Measure the extension beside a plain table of SQLite and atsdb sql, as in docs/sqlite-extension.md
	@[ -n "$(EXTENSION_PYTHON)" ] || { echo "no python3 here can load extensions: apt-get install python3" >&2; exit 1; }
	@rm -rf $(BUILT)/measure && mkdir -p $(BUILT)/measure
	@ATSDB=$(abspath $(ATSDB)) ATSDB_EXTENSION=$(abspath $(BUILT))/release/atsdb.so \
		$(EXTENSION_PYTHON) sqlite-extension/tests/measure.py $(abspath $(BUILT))/measure

measure-go: ## Measure what appending a row costs in Go, as in docs/go.md
	cd go && GOFLAGS="$$GOFLAGS -buildvcs=false" go test -run '^$$' -bench Append -benchmem -count 5 .

measure-static: build ## Measure the program beside a static one with musl, as in docs/building.md: ROWS=3_000_000
	@CARGO="$(CARGO)" .ci/static $(abspath $(BUILT)) $(or $(ROWS),3_000_000)

fuzz: setup ## Feed mutated inputs to what reads bytes: make fuzz TARGET=csv SECONDS=600 SEED=1; without TARGET it lists them
	$(CARGO) run --release -p atsdb-fuzz -- $(TARGET) $(or $(SECONDS),60) $(SEED)

simulate: setup ## Compare histories with faults with a model: make simulate SECONDS=600 STORE=sqlite SEED=1
	$(CARGO) run --release -p atsdb-simulator -- $(or $(STORE),all) $(if $(COUNT),count $(COUNT),seconds $(or $(SECONDS),60)) $(SEED)

soak: setup ## Run hours of mixed load from ten processes, some of which are killed: make soak SECONDS=7200 SEED=1
	$(CARGO) run --release -p atsdb-soak -- $(or $(SECONDS),7200) $(SEED)

postgres-parity: setup ## Run a folder of sqllogictest files on atsdb and on PostgreSQL, and list differences by cause: make postgres-parity FOLDER=tests/slt
	$(CARGO) run --release -p atsdb-server --example postgres_parity -- $(or $(FOLDER),tests/slt)

format:
	$(CARGO) fmt --all --check
	cd sqlite-extension && $(CARGO) fmt --check

lint:
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

unit-programs:
	$(CARGO) test $(CARGO_FLAGS) --release --workspace --no-run

# Many tests wait for servers, so four of them share two cores.
unit:
	ATSDB_CLIENTS=$${ATSDB_CLIENTS:-$(abspath $(BUILT))/clients} ATSDB_LAB_DUCKDB=$${ATSDB_LAB_DUCKDB:-$(abspath $(BUILT))/duckdb/duckdb_cli/duckdb} \
		ATSDB_LAB_CHDB=$${ATSDB_LAB_CHDB:-$(abspath $(BUILT))/chdb/python} ATSDB_LAB_ATSDB=$${ATSDB_LAB_ATSDB:-$(abspath $(ATSDB))} \
		ATSDB_LAB_QUESTDB=$${ATSDB_LAB_QUESTDB:-$(wildcard $(abspath $(BUILT))/questdb/questdb-*.jar)} RUST_TEST_THREADS=$${RUST_TEST_THREADS:-4} \
		$(CARGO) test $(CARGO_FLAGS) --release --workspace --no-fail-fast

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps

# It needs a Python that can load extensions, which Debian's can, and skips what needs sqlite3 or Datasette if they are missing.
EXTENSION_PYTHON = $(shell for python in python3 /usr/bin/python3; do $$python -c 'import sqlite3; sqlite3.Connection.enable_load_extension' 2>/dev/null && { echo $$python; break; }; done)
extension-tests: build extension
	cd sqlite-extension && CARGO_TARGET_DIR=$(abspath $(BUILT)) $(CARGO) clippy --release --locked --all-targets -- -D warnings
	cd sqlite-extension && CARGO_TARGET_DIR=$(abspath $(BUILT)) $(CARGO) test --release --locked
	@if [ -z "$(EXTENSION_PYTHON)" ]; then \
		echo "the extension of SQLite is not tested: no python3 here can load extensions; to have one, run: apt-get install python3" >&2; \
	else \
		ATSDB=$(abspath $(ATSDB)) ATSDB_EXTENSION=$(abspath $(BUILT))/release/atsdb.so ATSDB_DATASETTE=$(abspath $(BUILT))/datasette \
			$(EXTENSION_PYTHON) sqlite-extension/tests/run.py; \
	fi

clean: ## Remove what was built
	$(CARGO) clean
