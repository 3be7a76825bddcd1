"""Bytes a row of real files: an atsdb store, sealed, beside Parquet with zstd of the same rows in the same order.

    pip install pyarrow
    python3 docs/lab/real_files.py target/release/atsdb NAME FILE... [-- IMPORT-FLAG...]
"""
import json
import os
import subprocess
import sys
import tempfile

import pyarrow.parquet as parquet

atsdb, name, *rest = sys.argv[1:]
split = rest.index("--") if "--" in rest else len(rest)
files, flags = rest[:split], rest[split + 1 :]
with tempfile.TemporaryDirectory() as folder:
    store = f"{folder}/t.db"

    def run(*arguments):
        return subprocess.run([atsdb, *arguments], check=True, capture_output=True, text=True).stdout

    run("import", store, "t", *sorted(files), *flags)
    run("recompress", store)
    stats = json.loads(run("stats", store, "t", "--format", "json"))[0]
    rows, pages = stats["rows"], sum(column["bytes"] for column in stats["columns"])
    run("export", store, "t", "-o", f"{folder}/t.parquet")
    table = parquet.read_table(f"{folder}/t.parquet")
    sizes = []
    for level in (3, 19):
        parquet.write_table(table, f"{folder}/zstd.parquet", compression="zstd", compression_level=level)
        sizes.append(os.path.getsize(f"{folder}/zstd.parquet") / rows)
    whole = os.path.getsize(store) / rows
    print(f"{name}: {rows} rows; store {whole:.2f}, its pages {pages / rows:.2f}, "
          f"Parquet zstd 3 {sizes[0]:.2f}, zstd 19 {sizes[1]:.2f} bytes a row")
