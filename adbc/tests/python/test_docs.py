"""What the page shows in Python; its Go and C are tested beside the Go tests."""

import pathlib
import re

from conftest import DRIVER

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "adbc.md"


def test_the_page_shows_what_happens(tmp_path, monkeypatch, capsys):
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    release = tmp_path / "target" / "release"
    release.mkdir(parents=True)
    (release / "libadbc_driver_atsdb.so").symlink_to(pathlib.Path(DRIVER).resolve())
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    exec(compile(block, str(PAGE), "exec"), names)
    names["cursor"].close()
    names["connection"].close()
    printed = capsys.readouterr().out
    assert '["kitchen"]' in printed and "[14.5]" in printed and "garden" not in printed
