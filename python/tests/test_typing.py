"""What type checkers say of programs that use the package."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import atsdb

#: A program that names most of the public interface, with the types that its author expects.
PROGRAM = '''
import datetime as dt
import decimal
from dataclasses import dataclass
from typing import Annotated

import atsdb
from atsdb import dbapi


@atsdb.table("levels", slice="month", key=["river"], retention="200 years")
@dataclass
class Level:
    time: dt.datetime
    river: Annotated[str, atsdb.mapped("u16")]
    level: Annotated[float | None, atsdb.column(rename="level m")]
    count: atsdb.Int32
    price: Annotated[decimal.Decimal, atsdb.column("DECIMAL(12, 2)")]
    parts: list[float]
    note: Annotated[str, atsdb.column(skip=True)] = ""


def work(db: atsdb.Database, level: Level) -> list[Level]:
    done: atsdb.Appended = db.append([level], id="once")
    rows, stored = done
    statement: str = db.create_table(Level)
    result: atsdb.Result = db.sql("SELECT * FROM levels WHERE count = $count", {"count": rows})
    columns: list[str] = result.columns
    for row in result:
        print(len(row), columns, stored, statement)
    with db.transaction() as inside:
        inside.append("levels", ({"time": "2024-01-01", "count": at} for at in range(3)))
    imported: atsdb.Imported = db.import_file(["a.csv"], "levels", map={"river": "u16"}, null="-")
    before, after = db.recompress()
    figures = [table["rows"] for table in db.stats()]
    print(imported.notes, before - after, figures, db.backup("backups", keep=7), db.copy("b.db", start=dt.date(2024, 1, 1)))
    category: type[UserWarning] = atsdb.NoticeWarning
    print(category)
    try:
        db.sql("COMMIT")
    except (atsdb.ConflictError, atsdb.DuplicateKeyError) as error:
        kind: str | None = error.kind
        print(kind, error.sqlstate, error.hint)
    return list(db.rows(Level, "count = ?", (1,)))


def ask(path: str) -> int:
    with atsdb.open(path, cache_bytes="64 MiB", timeout="2 minutes") as db, dbapi.connect(db) as connection:
        cursor: dbapi.Cursor = connection.cursor()
        cursor.executemany("INSERT INTO t VALUES (?, ?)", [(1, "a")])
        one = cursor.execute("SELECT count(*) FROM t").fetchone()
        described = cursor.description
        names = [] if described is None else [name for name, *_ in described]
        return 0 if one is None else len(names) + cursor.rowcount
'''


@pytest.fixture
def program(tmp_path, monkeypatch):
    """The program in a folder that has the package and no other one, which a checker would take for parts of it."""
    shutil.copytree(pathlib.Path(atsdb.__file__).parent, tmp_path / "site" / "atsdb")
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MYPYPATH", str(tmp_path / "site"))
    return folder / "program.py"


def pyright(folder, *arguments):
    pytest.importorskip("pyright")
    # It looks for packages with the Python that it finds first.
    environment = {
        **os.environ,
        "PATH": f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(folder / "site"),
        "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
    }
    command = [sys.executable, "-m", "pyright", "--outputjson", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    # The first time it says before what it installs.
    begin = done.stdout.find("{\n")
    if begin < 0:
        pytest.skip(f"pyright cannot be had: {done.stderr[-200:]}")
    return json.loads(done.stdout[begin:])


def test_mypy_accepts_a_program_strictly(program):
    api = pytest.importorskip("mypy.api")
    out, errors, code = api.run(["--strict", "--ignore-missing-imports", "--no-incremental", str(program)])
    assert code == 0, out + errors


def test_pyright_accepts_a_program_strictly(program, tmp_path):
    program.with_name("pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    found = pyright(tmp_path, "--project", str(program.parent))["generalDiagnostics"]
    assert [each for each in found if each["severity"] == "error"] == []


def test_pyright_knows_the_type_of_each_public_name(program, tmp_path):
    found = pyright(tmp_path, "--verifytypes", "atsdb", "--ignoreexternal")["typeCompleteness"]
    # What other packages call, and not programs.
    others = ("atsdb.sqlalchemy", "atsdb.alembic")
    public = [each for each in found["symbols"] if each["isExported"] and not each["name"].startswith(others)]
    assert len(public) > 200
    assert [each["name"] for each in public if not each["isTypeKnown"] or each["isTypeAmbiguous"]] == []
