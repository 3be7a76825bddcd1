# One entrance. Everything is built with one profile, so that `make test` after `make demo` compiles no
# dependency again.

CARGO ?= cargo
export CARGO_TERM_COLOR ?= auto
# CI builds outside the clone, so that the next run finds the dependencies compiled.
ifdef CI
export CARGO_TARGET_DIR ?= $(HOME)/.cache/atsdb/target
endif
BUILT := $(or $(CARGO_TARGET_DIR),target)
ATSDB := $(BUILT)/release/atsdb
MDBOOK_VERSION := 0.5.4
MDBOOK := $(or $(wildcard $(BUILT)/mdbook/bin/mdbook),mdbook)

.PHONY: help setup servers build demo docs test fuzz simulate soak postgres-parity format lint doc unit clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

setup: ## checks what is needed to build, and says how to get it
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install a Rust toolchain, 1.94 or later" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "a C compiler is missing: apt-get install gcc libc6-dev" >&2; exit 1; }

servers: ## DuckDB, MariaDB and PostgreSQL for the lab's tests, where pip and apt-get may install them
	@.ci/servers $(BUILT)/duckdb

build: setup ## the atsdb program, optimised
	$(CARGO) build --release --workspace

demo: build ## the main job: two real-life files into one SQLite file, measured, asked, drawn
	@$(ATSDB) demo examples/weather.csv.gz

docs: ## this documentation as a site with search, by mdBook
	@command -v $(MDBOOK) >/dev/null || { echo "mdbook is missing: cargo install mdbook --locked --version $(MDBOOK_VERSION) --root $(BUILT)/mdbook" >&2; exit 1; }
	@command -v python3 >/dev/null || { echo "python3 is missing: apt-get install python3" >&2; exit 1; }
	$(MDBOOK) build docs --dest-dir $(abspath $(BUILT))/book
	@echo "the site: $(BUILT)/book/index.html"

test: setup servers format lint unit doc ## everything that CI checks

fuzz: setup ## mutated inputs for what reads bytes: make fuzz TARGET=csv SECONDS=600 SEED=1; without TARGET it lists them
	$(CARGO) run --release -p atsdb-fuzz -- $(TARGET) $(or $(SECONDS),60) $(SEED)

simulate: setup ## histories with faults, compared with a model: make simulate SECONDS=600 STORE=sqlite SEED=1
	$(CARGO) run --release -p atsdb-simulator -- $(or $(STORE),all) $(if $(COUNT),count $(COUNT),seconds $(or $(SECONDS),60)) $(SEED)

soak: setup ## hours of mixed load from ten processes, some of which are killed: make soak SECONDS=7200 SEED=1
	$(CARGO) run --release -p atsdb-soak -- $(or $(SECONDS),7200) $(SEED)

postgres-parity: setup ## a folder of sqllogictest files on atsdb and on PostgreSQL, differences by cause: make postgres-parity FOLDER=tests/slt
	$(CARGO) run --release -p atsdb-sql --example postgres_parity -- $(or $(FOLDER),tests/slt)

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

unit:
	ATSDB_LAB_DUCKDB=$${ATSDB_LAB_DUCKDB:-$(abspath $(BUILT))/duckdb/duckdb_cli/duckdb} $(CARGO) test --release --workspace

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps

clean: ## removes what was built
	$(CARGO) clean
