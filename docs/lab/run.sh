#!/usr/bin/env bash
# The committed runs of the lab, and the tables and the plot of README.md and docs/figures.md from them:
#
#     docs/lab/run.sh [PROGRAM [FOLDER]]
#
# PROGRAM is atsdb, FOLDER is where scratch data goes. The script runs four workloads in their own sizes on all
# contestants that are installed; `series`, which takes longest, on all except those that hardly differ from another;
# `series` again with ten million rows on six contestants, which the README shows; `groupby`, and `series` once more,
# on the analytical ones; `tsbs` and `hits` on those without QuestDB; `series` with a hundred million rows and `tsbs`
# with 4,000 hosts; `ingest` and then `serve` on servers; and `pinger` and `memory` again, on fewer contestants, the
# latter with more rows. MySQL takes part if ATSDB_LAB_MYSQL_URL names a server. It takes more than three hours and
# 10 GB of disk, during which nothing else should run on the machine.
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
lab groupby --repeat 1 --contestants duckdb,clickhouse,questdb,atsdb -o docs/lab/questions.json
lab series --repeat 1 --contestants duckdb,clickhouse,questdb,atsdb -o docs/lab/questdb.json
lab tsbs --repeat 3 --contestants duckdb,clickhouse,atsdb -o docs/lab/tsbs.json
lab hits --repeat 1 --contestants duckdb,clickhouse,atsdb -o docs/lab/hits.json
lab series --rows 100000000 --repeat 1 --contestants duckdb,clickhouse,atsdb -o docs/lab/series100.json
lab tsbs --rows 8640000 --repeat 1 --contestants duckdb,clickhouse,questdb,atsdb -o docs/lab/tsbs4000.json
servers=postgres,questdb,influxdb,victoriametrics,atsdb:served,atsdb:lines
lab ingest --repeat 1 --contestants "$servers" -o docs/lab/servers.json
lab serve --repeat 1 --contestants "$servers" -o docs/lab/serve.json
lab pinger --repeat 1 --contestants sqlite,mariadb:innodb,postgres,duckdb,atsdb -o docs/lab/pinger.json
lab pinger mass split memory --repeat 1 -o docs/lab/results.json --html docs/lab/report.html
lab series --rows 2000000 --repeat 1 --contestants "$many" -o docs/lab/series.json --html docs/lab/series.html
python3 docs/lab/make_headline.py
python3 docs/pictures/speed_and_size.py
