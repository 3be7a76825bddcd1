"""The program that the package ships."""

import subprocess
import sys

import atsdb


def run(*arguments, **options):
    command = [sys.executable, "-m", "atsdb", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **options)


def test_the_program_works_on_the_same_stores(tmp_path):
    path = tmp_path / "a.db"
    with atsdb.open(path) as db:
        db.sql("CREATE TABLE t (a INT)")
        db.append("t", [(1,), (2,)])
    done = run("sql", path, "SELECT sum(a) AS total FROM t", "--format", "csv")
    assert (done.stdout, done.returncode) == ("total\n3\n", 0)
    assert run(path, input=".tables\n").returncode == 0


def test_the_program_ends_with_its_exit_code(tmp_path):
    done = run("sql", tmp_path / "none.db", "SELECT 1")
    assert done.returncode == 2 and "error:" in done.stderr
    assert run("--version").stdout.startswith(f"atsdb {atsdb.__version__}")
    assert run("nonsense", "x").returncode == 1


def test_the_lab_starts_its_children(tmp_path):
    command = ["lab", "run", "series", "--rows", "20000", "--repeat", "1", "--contestants", "atsdb", "--dir", tmp_path]
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert "atsdb" in done.stdout
