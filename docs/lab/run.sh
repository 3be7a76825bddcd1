#!/usr/bin/env bash
# The committed runs of the lab, and the tables and the plot of README.md and docs/figures.md from them:
#
#     docs/lab/run.sh [PROGRAM [FOLDER]]
#
# PROGRAM is atsdb, FOLDER is where scratch data goes. Four workloads in their own sizes on everybody who is present;
# `series`, which takes longest, on all but who differs from another in little; `series` again, which the README shows,
# with ten million rows on six contestants; `memory` again with more rows on those whose rows are in memory. MySQL takes part where
# ATSDB_LAB_MYSQL_URL names one. Nothing else should run on the machine, for some two hours.
set -euo pipefail
cd "$(dirname "$0")/../.."
atsdb=${1:-target/release/atsdb}
folder=${2:-${TMPDIR:-/tmp}}
many=sqlite,atsdb,atsdb:postgres,atsdb:mariadb,atsdb:memory,mariadb:innodb,postgres,duckdb
many=$many,mariadb:myisam,mariadb:rocksdb,sliced:sqlite,sliced:mariadb,sliced:postgres
[ -z "${ATSDB_LAB_MYSQL_URL:-}" ] || many=$many,mysql

lab() {
	"$atsdb" lab run --dir "$folder" "$@" >/dev/null
}
lab series --rows 10000000 --repeat 1 --contestants sqlite,mariadb:innodb,postgres,duckdb,clickhouse,atsdb -o docs/lab/headline.json
lab memory --rows 10000000 --repeat 1 --contestants sqlite:memory,mariadb:memory,duckdb,atsdb:memory -o docs/lab/memory.json
lab pinger mass split memory --repeat 1 -o docs/lab/results.json --html docs/lab/report.html
lab series --rows 2000000 --repeat 1 --contestants "$many" -o docs/lab/series.json --html docs/lab/series.html
python3 docs/lab/make_headline.py
python3 docs/pictures/speed_and_size.py
