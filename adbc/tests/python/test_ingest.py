"""Bulk ingestion."""

import pyarrow
import pytest
from conftest import connect

TIMES = pyarrow.array([0, 10, 20], pyarrow.timestamp("ms", "UTC"))
TABLE = pyarrow.table({"time": TIMES, "sensor": ["a", "b", "a"], "value": [1.5, None, 3.5]})


def count(connection, table="t"):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        return cursor.fetchone()[0]


def exists(connection, table="t"):
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM information_schema.tables WHERE table_name = ?", (table,))
        return cursor.fetchone()[0] == 1


def test_create_append_and_both(connection):
    with connection.cursor() as cursor:
        with pytest.raises(connection.ProgrammingError, match="no table t") as missing:
            cursor.adbc_ingest("t", TABLE, mode="append")
        assert missing.value.sqlstate == "42P01"
        assert cursor.adbc_ingest("t", TABLE, mode="create") == 3
        with pytest.raises(connection.ProgrammingError, match="already exists") as there:
            cursor.adbc_ingest("t", TABLE, mode="create")
        assert there.value.sqlstate == "42P07"
        assert cursor.adbc_ingest("t", TABLE, mode="append") == 3
        assert cursor.adbc_ingest("t", TABLE.to_reader(max_chunksize=2), mode="create_append") == 3
        assert cursor.adbc_ingest("u", TABLE.to_batches()[0], mode="create_append") == 3
    connection.commit()
    assert count(connection) == 9 and count(connection, "u") == 3


def test_replace_drops_what_was_there(connection):
    with connection.cursor() as cursor:
        cursor.adbc_ingest("t", TABLE, mode="replace")
        cursor.adbc_ingest("t", pyarrow.table({"x": [1]}), mode="replace")
        cursor.execute("SELECT * FROM t")
        assert cursor.fetch_arrow_table().to_pydict() == {"x": [1]}


def test_a_failed_ingestion_leaves_nothing(path):
    def broken():
        yield TABLE.to_batches()[0]
        raise ValueError("the source is gone")

    with connect(path, autocommit=True) as connection:
        with connection.cursor() as cursor:
            reader = pyarrow.RecordBatchReader.from_batches(TABLE.schema, broken())
            with pytest.raises(connection.Error, match="the source is gone"):
                cursor.adbc_ingest("t", reader, mode="create")
            assert not exists(connection)
            cursor.adbc_ingest("t", TABLE)
            reader = pyarrow.RecordBatchReader.from_batches(TABLE.schema, broken())
            with pytest.raises(connection.Error, match="the source is gone"):
                cursor.adbc_ingest("t", reader, mode="append")
        assert count(connection) == 3


@pytest.mark.parametrize("mode", ["append", "replace"])
def test_a_failed_ingestion_fails_its_transaction(path, mode):
    def broken():
        yield TABLE.to_batches()[0]
        raise ValueError("the source is gone")

    with connect(path) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("t", TABLE)
        connection.commit()
        reader = pyarrow.RecordBatchReader.from_batches(TABLE.schema, broken())
        with pytest.raises(connection.Error, match="the source is gone"):
            cursor.adbc_ingest("t", reader, mode=mode)
        with pytest.raises(connection.Error, match="had failed"):
            connection.commit()
        assert count(connection) == 3


def test_rows_that_do_not_fit_are_refused_with_row_and_column(connection):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (x SMALLINT NOT NULL)")
        connection.commit()
        for column, error, match in [
            ([1, 70000], connection.DataError, "row 2.*70000"),
            (["a"], connection.DataError, "column x"),
            ([None], connection.IntegrityError, "NULL"),
        ]:
            with pytest.raises(error, match=match):
                cursor.adbc_ingest("t", pyarrow.table({"x": column}), mode="append")
            connection.rollback()
        with pytest.raises(connection.Error, match="no column named y"):
            cursor.adbc_ingest("t", pyarrow.table({"x": [1], "y": [1]}), mode="append")
        connection.rollback()
        assert cursor.adbc_ingest("t", pyarrow.table({"x": [1, -32768]}), mode="append") == 2


@pytest.mark.parametrize("names", [["x", "x"], ["x", "X"]])
def test_a_column_that_is_given_twice_is_refused(connection, names):
    twice = pyarrow.table([pyarrow.array([1]), pyarrow.array([2])], names=names)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (x INT, y INT)")
        connection.commit()
        with pytest.raises(connection.ProgrammingError, match="column x is given twice"):
            cursor.adbc_ingest("t", twice, mode="append")
        connection.rollback()
        with pytest.raises(connection.Error, match="(?i)column.* x"):
            cursor.adbc_ingest("u", twice, mode="create")
        connection.rollback()
    assert count(connection) == 0 and not exists(connection, "u")


def test_keys_are_kept(connection):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE t (x INT PRIMARY KEY)")
        connection.commit()
        cursor.adbc_ingest("t", pyarrow.table({"x": [1, 2]}), mode="append")
        connection.commit()
        with pytest.raises(connection.IntegrityError) as twice:
            cursor.adbc_ingest("t", pyarrow.table({"x": [3, 2]}), mode="append")
            connection.commit()
        assert twice.value.sqlstate == "23505"
        connection.rollback()
    assert count(connection) == 2


def test_a_series_table_is_created_with_its_options(connection):
    with connection.cursor() as cursor:
        cursor.adbc_statement.set_options(
            **{
                "atsdb.ingest.time": "time",
                "atsdb.ingest.map": "sensor:u8",
                "atsdb.ingest.slice": "month",
                "atsdb.ingest.retention": "200 years",
                "atsdb.ingest.key": "sensor",
            }
        )
        cursor.adbc_ingest("t", TABLE)
        cursor.execute("SELECT kind, time_column, slice, retention, series_key FROM atsdb.tables")
        assert cursor.fetchall() == [("series", "time", "month", "200 years", "sensor")]
        cursor.execute("SELECT map FROM atsdb.columns WHERE column_name = 'sensor'")
        assert cursor.fetchone() == ("u8",)


def test_dictionaries_become_mapped_columns(connection):
    words = pyarrow.array(["a", "b", "a"]).dictionary_encode()
    with connection.cursor() as cursor:
        cursor.adbc_ingest("t", pyarrow.table({"word": words}))
        cursor.execute("SELECT word FROM t")
        column = cursor.fetch_arrow_table()["word"]
    assert pyarrow.types.is_dictionary(column.type) and column.to_pylist() == ["a", "b", "a"]


def test_a_batch_with_an_id_counts_once(path):
    with connect(path, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("t", TABLE.slice(0, 0))
        cursor.adbc_statement.set_options(**{"atsdb.ingest.batch_id": "march 1st"})
        assert cursor.adbc_ingest("t", TABLE, mode="append") == 3
        assert cursor.adbc_ingest("t", TABLE, mode="append") == 0
        assert count(connection) == 3


def test_what_a_store_does_not_have_is_refused(connection):
    lists = pyarrow.table({"price": pyarrow.array([[[1]]], pyarrow.list_(pyarrow.list_(pyarrow.int32())))})
    with connection.cursor() as cursor:
        with pytest.raises(connection.NotSupportedError, match="column price: no table holds the type"):
            cursor.adbc_ingest("t", lists)
        with pytest.raises(connection.ProgrammingError, match="is always atsdb, not other"):
            cursor.adbc_ingest("t", TABLE, catalog_name="other")
    with connection.cursor() as cursor:
        with pytest.raises(connection.ProgrammingError, match="no schema named other") as missing:
            cursor.adbc_ingest("t", TABLE, db_schema_name="other")
        assert missing.value.sqlstate == "3F000"
    with connection.cursor() as cursor:
        assert cursor.adbc_ingest("t", TABLE, db_schema_name="public", catalog_name="atsdb") == 3


def test_lists_become_arrays(connection):
    columns = {
        "numbers": pyarrow.array([[1, None, 3], None, []], pyarrow.list_(pyarrow.int32())),
        "words": pyarrow.array([["a", "b"], ["c"], None], pyarrow.large_list(pyarrow.large_string())),
    }
    with connection.cursor() as cursor:
        assert cursor.adbc_ingest("t", pyarrow.table(columns)) == 3
        assert cursor.adbc_ingest("t", pyarrow.table({"numbers": columns["numbers"]}), mode="append") == 3
        cursor.execute("SELECT type FROM atsdb.columns ORDER BY position")
        assert [name for (name,) in cursor.fetchall()] == ["INT[]", "TEXT[]"]
        cursor.execute("SELECT numbers, words FROM t WHERE words IS NOT NULL ORDER BY words")
        found = cursor.fetch_arrow_table()
        assert found.to_pydict() == {"numbers": [[1, None, 3], None], "words": [["a", "b"], ["c"]]}
        assert found.schema.field("numbers").type == pyarrow.list_(pyarrow.int32())


def test_texts_and_dictionaries_fit_columns_of_enumerated_types(connection):
    texts = pyarrow.array(["ok", None, "sad"])
    with connection.cursor() as cursor:
        cursor.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        cursor.execute("CREATE TABLE t (feels mood)")
        assert cursor.adbc_ingest("t", pyarrow.table({"feels": texts}), mode="append") == 3
        assert cursor.adbc_ingest("t", pyarrow.table({"feels": texts.dictionary_encode()}), mode="append") == 3
        connection.commit()
        with pytest.raises(connection.DataError, match="good") as unknown:
            cursor.adbc_ingest("t", pyarrow.table({"feels": ["good"]}), mode="append")
        assert unknown.value.sqlstate == "22P02"
        connection.rollback()
        cursor.execute("SELECT feels FROM t WHERE feels > 'sad'")
        column = cursor.fetch_arrow_table()["feels"]
    assert pyarrow.types.is_dictionary(column.type) and column.to_pylist() == ["ok", "ok"]


def test_the_extension_type_of_uuids_becomes_a_uuid(connection):
    identities = pyarrow.array([bytes(15) + b"\7", None], pyarrow.uuid())
    with connection.cursor() as cursor:
        cursor.adbc_ingest("identities", pyarrow.table({"id": identities}))
        cursor.execute("SELECT id, pg_typeof(id) FROM identities WHERE id = '00000000-0000-0000-0000-000000000007'")
        assert cursor.fetchall() == [("00000000-0000-0000-0000-000000000007", "uuid")]


def test_tables_in_schemas(connection):
    more = pyarrow.table({"value": [9.0]})
    with connection.cursor() as cursor:
        cursor.execute('CREATE SCHEMA "Lab"')
        cursor.adbc_ingest("t", more)
    with connection.cursor() as cursor:
        assert cursor.adbc_ingest("t", TABLE, db_schema_name="lab") == 3
        assert cursor.adbc_ingest("t", TABLE, mode="append", db_schema_name="lab") == 3
        assert count(connection) == 1 and count(connection, '"Lab".t') == 6
        assert cursor.adbc_ingest("t", more, mode="replace", db_schema_name="LAB") == 1
        connection.commit()
        assert count(connection) == 1 and count(connection, '"Lab".t') == 1
        # The cursor keeps its statement, but a schema is that of one ingestion.
        assert cursor.adbc_ingest("t", more, mode="append") == 1
        assert cursor.adbc_ingest("Lab.t", more, mode="append") == 1
        with pytest.raises(connection.ProgrammingError, match="no table u to append to"):
            cursor.adbc_ingest("u", more, mode="append", db_schema_name="lab")
    assert count(connection) == 2 and count(connection, '"Lab".t') == 2
    with connection.cursor() as cursor:
        assert cursor.adbc_ingest("lab.new", more) == 1
        assert cursor.adbc_ingest("lab.t", more, mode="replace") == 1
    assert count(connection, "lab.new") == 1 and count(connection, "lab.t") == 1 and count(connection) == 2


@pytest.mark.parametrize("autocommit", [True, False])
def test_tables_of_the_current_schema(path, autocommit):
    one = pyarrow.table({"value": [9.0]})
    with connect(path, autocommit=autocommit) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA lab")
        assert cursor.adbc_ingest("t", one) == 1 and cursor.adbc_ingest("u", one) == 1
        cursor.execute("SET search_path TO lab, public")
        assert cursor.adbc_ingest("new", one) == 1
        # One that is in no schema of the path is created in the first.
        assert cursor.adbc_ingest("new", one, mode="append") == 1
        assert cursor.adbc_ingest("new", one, mode="create_append", db_schema_name="public") == 1
        assert cursor.adbc_ingest("u", one, mode="append") == 1
        assert cursor.adbc_ingest("lab.new", one, mode="append") == 1
        assert cursor.adbc_ingest("new", one, mode="replace", db_schema_name="public") == 1
        counts = [count(connection, name) for name in ["lab.new", "public.new", "public.t", "public.u"]]
        assert counts == [3, 1, 1, 2]
        connection.adbc_current_db_schema = "lab"
        with pytest.raises(connection.ProgrammingError, match="no table t to append to"):
            cursor.adbc_ingest("t", one, mode="append")
        if not autocommit:
            connection.rollback()


@pytest.mark.parametrize("autocommit", [True, False])
def test_temporary_tables(path, autocommit):
    words = pyarrow.table({"time": TIMES, "word": pyarrow.array(["a", "b", "a"]).dictionary_encode()})
    with connect(path, autocommit=autocommit) as connection, connection.cursor() as cursor:
        assert cursor.adbc_ingest("t", TABLE.slice(0, 1)) == 1
        assert cursor.adbc_ingest("t", words, temporary=True) == 3
        assert cursor.adbc_ingest("t", words, mode="append", temporary=True) == 3
        assert cursor.adbc_ingest("t", words.to_reader(max_chunksize=1), mode="create_append", temporary=True) == 3
        # Without the option the stored table is meant.
        assert cursor.adbc_ingest("t", TABLE, mode="append") == 3
        assert count(connection) == 9 and count(connection, "public.t") == 4
        assert cursor.adbc_ingest("t", words, mode="replace", temporary=True) == 3
        assert count(connection) == 3 and count(connection, "public.t") == 4
        with pytest.raises(connection.ProgrammingError, match="already exists"):
            cursor.adbc_ingest("t", words, temporary=True)
        if not autocommit:
            connection.commit()
        (catalog,) = connection.adbc_get_objects(depth="tables").read_all().to_pylist()
        names = {one["db_schema_name"]: len(one["db_schema_tables"]) for one in catalog["catalog_db_schemas"]}
        assert names == {"public": 1, "pg_temp": 1}
        with connect(path) as other:
            assert count(other) == 4
    with connect(path, autocommit=autocommit) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE own (x INT)")
        with pytest.raises(connection.ProgrammingError, match="adbc.ingest.temporary"):
            cursor.adbc_ingest("own", pyarrow.table({"x": [1]}), mode="append")
        with pytest.raises(connection.ProgrammingError, match="no catalog and no schema"):
            cursor.adbc_ingest("own", TABLE, temporary=True, db_schema_name="public")


def test_rows_of_a_temporary_table_have_no_id(path):
    with connect(path, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("t", TABLE, temporary=True)
        cursor.adbc_statement.set_options(**{"atsdb.ingest.batch_id": "march 1st"})
        with pytest.raises(connection.ProgrammingError, match="temporary table t cannot be a batch with an id"):
            cursor.adbc_ingest("t", TABLE, mode="append", temporary=True)


def test_many_rows_stay_within_bounded_memory(path):
    import resource

    batch = pyarrow.record_batch({"x": pyarrow.array(range(100_000)), "y": pyarrow.array([b"0123456789" * 10] * 100_000)})

    def batches():
        for _ in range(100):
            yield batch

    with connect(path, autocommit=True) as connection, connection.cursor() as cursor:
        reader = pyarrow.RecordBatchReader.from_batches(batch.schema, (each for each in [batch]))
        cursor.adbc_ingest("t", reader)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        reader = pyarrow.RecordBatchReader.from_batches(batch.schema, batches())
        assert cursor.adbc_ingest("t", reader, mode="append") == 10_000_000
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        # More than a gigabyte in total.
        assert grown < 500_000, f"{grown} kB"
        cursor.execute("SELECT count(y), sum(x) FROM t")
        assert cursor.fetchone() == (10_100_000, 101 * sum(range(100_000)))
