"""The examples of the documentation."""

import doctest
import importlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import atsdb

ROOT = pathlib.Path(__file__).parents[2]
MODULES = ["atsdb", "atsdb.dbapi", "atsdb.sqlalchemy", "atsdb.tables", "atsdb.database", "atsdb.result", "atsdb.errors"]


@pytest.mark.parametrize("module", MODULES)
def test_docstrings_show_what_happens(module):
    if module == "atsdb.sqlalchemy":
        pytest.importorskip("sqlalchemy")
    found = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


def test_the_page_shows_what_happens(tmp_path, monkeypatch):
    """Runs the blocks of the page from top to bottom, in one program."""
    for needed in ("pandas", "polars", "pyarrow", "duckdb", "sqlalchemy"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    text = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) > 8
    names = {"__name__": "page"}
    for block in blocks:
        example = doctest.DocTestParser().get_doctest(block, names, "docs/python.md", "docs/python.md", 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        assert example.examples, block
        found = runner.run(example, clear_globs=False)
        assert found.failed == 0, block
        names.update(example.globs)


def test_the_tour_runs(tmp_path, monkeypatch, capsys):
    for needed in ("pandas", "polars", "pyarrow", "duckdb", "sqlalchemy"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "python" / "examples" / "tour.ipynb").read_text())
    names = {"__name__": "__main__", "EXAMPLES": str(ROOT / "examples")}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"tour.ipynb, {cell['id']}", "exec"), names)
            # The output of a cell depends on the machine.
            assert cell["outputs"] == [] and cell["execution_count"] is None
    assert "the end of the tour" in capsys.readouterr().out


def test_public_names_have_docstrings():
    for name in atsdb.__all__:
        value = getattr(atsdb, name)
        if isinstance(value, type) and value.__module__.startswith("atsdb"):
            members = [member for member in vars(value).values() if callable(member) or isinstance(member, property)]
            named = [member for member in members if not getattr(member, "__name__", "_").startswith("_")]
            assert value.__doc__ and all(member.__doc__ for member in named), name


def test_the_version_is_that_of_the_crates():
    text = (ROOT / "Cargo.toml").read_text()
    assert f'version = "{atsdb.__version__}"' in text


def test_types_are_as_the_stubs_say(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    # In a folder without the other packages, which mypy would take for parts of this one.
    package = shutil.copytree(pathlib.Path(atsdb.__file__).parent, tmp_path / "atsdb")
    monkeypatch.chdir(tmp_path)
    out, errors, code = api.run(["--strict", "--ignore-missing-imports", "--no-incremental", str(package)])
    assert code == 0, out + errors


def test_the_stubs_have_what_the_extension_module_has(tmp_path):
    pytest.importorskip("mypy.stubtest")
    # From a folder without the sources, so that the installed package is compared.
    command = [sys.executable, "-m", "mypy.stubtest", "--ignore-disjoint-bases", "atsdb._atsdb", "atsdb.errors"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
