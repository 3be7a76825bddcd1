"""How a notebook shows results."""

import pytest

import atsdb


def test_a_notebook_shows_the_next_rows_and_leaves_them_unread(db):
    result = db.sql("SELECT n, CASE WHEN n > 1 THEN '<b>' END AS \"a&b\" FROM generate_series(1, 2) AS g(n)")
    shown = result._repr_html_()
    assert "<th>n<br><small>Int32</small></th><th>a&amp;b<br><small>Utf8</small></th>" in shown
    assert "<tr><td>1</td><td><em>NULL</em></td></tr><tr><td>2</td><td>&lt;b&gt;</td></tr>" in shown
    assert result._repr_html_() == shown
    assert result.fetchall() == [(1, None), (2, "<b>")]
    assert "<td>" not in result._repr_html_() and "No rows are left to read." in result._repr_html_()


def test_a_notebook_shows_few_rows_of_many(db):
    result = db.sql("SELECT n, repeat('x', 1000) FROM generate_series(1, 100000) AS g(n) ORDER BY n")
    shown = result._repr_html_()
    assert shown.count("<tr>") == 21 and "more follow" in shown and "x" * 201 not in shown
    assert result.fetchone()[0] == 1
    assert "<tr><td>2</td>" in result._repr_html_()
    assert [n for n, _ in result.fetchall()] == list(range(2, 100_001))


def test_a_shown_result_can_be_read_as_arrow(db):
    pyarrow = pytest.importorskip("pyarrow")
    result = db.sql("SELECT n FROM generate_series(1, 30000) AS g(n) ORDER BY n")
    result._repr_html_()
    assert pyarrow.table(result).column(0).to_pylist() == list(range(1, 30_001))


def test_a_result_without_rows_and_the_text_of_one_with_rows(readings):
    done = readings.sql("DELETE FROM readings WHERE count = 1")
    assert done._repr_html_() == "<pre>&lt;atsdb.Result DELETE, 1 rows&gt;</pre>"
    assert repr(readings.sql("SELECT pm10, count FROM readings")) == "<atsdb.Result pm10: Float32, count: Int32>"
    assert isinstance(readings.sql("SELECT 1"), atsdb.Result)
