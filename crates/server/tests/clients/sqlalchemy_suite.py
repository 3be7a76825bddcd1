"""SQLAlchemy's own suite for dialects: exactly the tests with a known reason fail."""

import os
import pathlib
import re
import subprocess
import sys

import psycopg

# Tests that fail, without their parameters, and why.
KNOWN = {
    # These fail on PostgreSQL, too, if the tables have no comments and no foreign keys.
    "ComponentReflectionTest::test_get_multi_columns": "they compare comments",
    "ComponentReflectionTest::test_get_multi_indexes": "they compare comments",
    "ComponentReflectionTest::test_get_multi_pk_constraint": "they compare comments",
    "ComponentReflectionTest::test_get_multi_unique_constraints": "they compare comments",
    "ComponentReflectionTest::test_get_pk_constraint": "they compare comments",
    "ComponentReflectionTest::test_get_view_names": "the suite creates no views without foreign keys",
    "DistinctOnTest::test_distinct_on": "it is for databases without DISTINCT ON",
    # These pass on PostgreSQL.
    "DateTimeTest::test_round_trip": "TIMESTAMP is a time in UTC",
    "DateTimeTest::test_round_trip_decorated": "TIMESTAMP is a time in UTC",
    "DateTimeMicrosecondsTest::test_round_trip": "TIMESTAMP is a time in UTC",
    "DateTimeMicrosecondsTest::test_round_trip_decorated": "TIMESTAMP is a time in UTC",
    "RowFetchTest::test_row_w_scalar_select": "TIMESTAMP is a time in UTC",
    "TrueDivTest::test_truediv_divisor": "decimals have at most 38 digits",
}
# Fewer would mean that the suite was not run as it should be.
PASSED_MIN = 700

url = sys.argv[1]
# The suite wants an empty database with this schema.
with psycopg.connect(url, autocommit=True) as connection:
    for name in ("high", "readings", "sensors"):
        connection.execute(f"DROP {'VIEW' if name == 'high' else 'TABLE'} {name}")
    connection.execute("CREATE SCHEMA test_schema")

folder = pathlib.Path(__file__).parent / "sqlalchemy_suite"
address = url.replace("postgresql://", "postgresql+psycopg://")
command = [sys.executable, "-m", "pytest", "test_suite.py", f"--dburi={address}", "--maxfail=2000"]
environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(folder)}
output = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
lines = output.stdout.splitlines()
failed = [line for line in lines if re.match(r"(FAILED|ERROR) ", line)]


def test_name(line):
    """The class and the function of a test that a line of the summary names."""
    name = re.split(r"[\[ ]", line.split(".py::")[-1])[0]
    return re.sub(r"_postgresql\+psycopg[^:]*::", "::", name)


names = {test_name(line) for line in failed}
unknown = sorted(names - KNOWN.keys())
passed = re.search(r"(\d+) passed", lines[-1] if lines else "")
if unknown or passed is None or int(passed[1]) < PASSED_MIN:
    print(output.stdout[-20_000:], output.stderr[-5_000:])
    sys.exit(f"these tests fail without a known reason: {unknown}; {lines[-1:]}")
outdated = sorted(KNOWN.keys() - names)
if outdated:
    sys.exit(f"these tests have a reason to fail, and pass: {outdated}")
print(lines[-1])
print("done")
