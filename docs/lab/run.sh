#!/usr/bin/env bash
# The committed runs of the lab, and the tables of README.md and docs/figures.md from them:
#
#     docs/lab/run.sh [PROGRAM [FOLDER]]
#
# PROGRAM is atsdb, FOLDER is where scratch data goes. All workloads in their own sizes on everybody who is present, once;
# `series`, of which the README tells, three times on five contestants; `memory` with more rows on those whose rows are in
# memory. MySQL takes part where ATSDB_LAB_MYSQL_URL names one. Nothing else should run on the machine, for two hours.
set -euo pipefail
cd "$(dirname "$0")/../.."
atsdb=${1:-target/release/atsdb}
folder=${2:-${TMPDIR:-/tmp}}

"$atsdb" lab run series --rows 1000000 --repeat 3 --dir "$folder" \
	--contestants sqlite,mariadb:innodb,postgres,duckdb,atsdb -o docs/lab/headline.json >/dev/null
"$atsdb" lab run memory --rows 10000000 --repeat 1 --dir "$folder" \
	--contestants sqlite:memory,mariadb:memory,duckdb,atsdb:memory -o docs/lab/memory.json >/dev/null
"$atsdb" lab run pinger mass split memory series --repeat 1 --dir "$folder" \
	-o docs/lab/results.json --html docs/lab/report.html >/dev/null
python3 docs/lab/make_headline.py
