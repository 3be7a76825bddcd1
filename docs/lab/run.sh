#!/usr/bin/env bash
# The committed runs of the lab, and the tables of README.md and docs/figures.md from them:
#
#     docs/lab/run.sh [PROGRAM [FOLDER]]
#
# PROGRAM is atsdb, FOLDER is where scratch data goes. Sizes are chosen so that all of it takes less than half an hour on two
# cores: first `series` at a size that tells, on five contestants; then the others on everybody, smaller. Nothing else should
# run on the machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
atsdb=${1:-target/release/atsdb}
folder=${2:-${TMPDIR:-/tmp}}

"$atsdb" lab run series --rows 1000000 --repeat 3 --dir "$folder" \
	--contestants sqlite,mariadb:innodb,postgres,duckdb,atsdb -o docs/lab/headline.json >/dev/null
"$atsdb" lab run pinger memory mass split --rows pinger=10000,memory=100000,mass=5000,split=40000 --repeat 1 --dir "$folder" \
	-o docs/lab/results.json --html docs/lab/report.html >/dev/null
python3 docs/lab/make_headline.py
