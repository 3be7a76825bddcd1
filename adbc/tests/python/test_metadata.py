"""A connection's description of the store, options, and errors."""

import pytest
from conftest import connect


def objects(connection, **filters):
    return connection.adbc_get_objects(**filters).read_all().to_pylist()


def tables_of(connection, **filters):
    (catalog,) = objects(connection, **filters)
    (schema,) = catalog["catalog_db_schemas"]
    return {table["table_name"]: table for table in schema["db_schema_tables"]}


def test_objects_at_all_depths(readings):
    (catalog,) = objects(readings, depth="catalogs")
    assert catalog == {"catalog_name": "atsdb", "catalog_db_schemas": None}
    (catalog,) = objects(readings, depth="db_schemas")
    assert catalog["catalog_db_schemas"] == [{"db_schema_name": "public", "db_schema_tables": None}]
    tables = tables_of(readings, depth="tables")
    assert {name: table["table_type"] for name, table in tables.items()} == {"readings": "table", "tops": "view"}
    assert tables["readings"]["table_columns"] is None
    tables = tables_of(readings, depth="all")
    columns = {column["column_name"]: column for column in tables["readings"]["table_columns"]}
    assert [column["ordinal_position"] for column in columns.values()] == [1, 2, 3, 4]
    assert columns["time"]["xdbc_type_name"] == "TIMESTAMP(3)" and columns["time"]["xdbc_decimal_digits"] == 3
    assert columns["sensor"]["xdbc_is_nullable"] == "NO" and columns["sensor"]["xdbc_nullable"] == 0
    assert columns["count"]["xdbc_data_type"] == 4 and columns["pm10"]["xdbc_nullable"] == 1
    (key,) = tables["readings"]["table_constraints"]
    assert key["constraint_type"] == "PRIMARY KEY" and key["constraint_column_names"] == ["sensor", "time"]
    assert [column["column_name"] for column in tables["tops"]["table_columns"]] == ["sensor", "highest"]


def test_objects_are_filtered(readings):
    assert objects(readings, catalog_filter="other") == []
    assert objects(readings, db_schema_filter="x%")[0]["catalog_db_schemas"] == []
    assert list(tables_of(readings, table_name_filter="read%")) == ["readings"]
    assert list(tables_of(readings, table_types_filter=["view"])) == ["tops"]
    assert tables_of(readings, table_name_filter="none") == {}
    columns = tables_of(readings, table_name_filter="readings", column_name_filter="%o%")["readings"]["table_columns"]
    assert [column["column_name"] for column in columns] == ["sensor", "count"]


def test_objects_show_what_the_transaction_has_created(readings):
    with readings.cursor() as cursor:
        cursor.execute("CREATE TABLE mine (x INT)")
    assert "mine" in tables_of(readings)
    readings.rollback()
    assert "mine" not in tables_of(readings)


def test_schemas_of_tables(readings):
    schema = readings.adbc_get_table_schema("readings")
    assert schema.names == ["time", "sensor", "pm10", "count"] and not schema.field("sensor").nullable
    assert readings.adbc_get_table_schema("tops", db_schema_filter="public").names == ["sensor", "highest"]
    assert "table_name" in readings.adbc_get_table_schema("tables", db_schema_filter="information_schema").names
    for name, place in [("none", {}), ("readings", {"catalog_filter": "x"}), ("readings", {"db_schema_filter": "x"})]:
        with pytest.raises(readings.ProgrammingError):
            readings.adbc_get_table_schema(name, **place)


def test_statistics_of_tables(readings):
    with readings.cursor() as cursor:
        cursor.execute("CREATE SCHEMA lab")
        cursor.execute("CREATE TABLE lab.empty (a INT)")
    readings.commit()

    def statistics(**filters):
        catalogs = readings.adbc_get_statistics(**filters).read_all().to_pylist()
        schemas = [schema for catalog in catalogs for schema in catalog["catalog_db_schemas"]]
        return {
            (schema["db_schema_name"], one["table_name"], one["statistic_key"]): one
            for schema in schemas
            for one in schema["db_schema_statistics"]
        }

    found = statistics()
    rows = found["public", "readings", 6]
    assert (rows["statistic_value"], rows["column_name"], rows["statistic_is_approximate"]) == (4, None, False)
    width = found["public", "readings", 0]
    assert width["statistic_value"] > 0 and width["statistic_is_approximate"]
    assert found["lab", "empty", 6]["statistic_value"] == 0
    assert not any(table == "tops" for _, table, _ in found)
    assert {table for _, table, _ in statistics(table_name_filter="read%")} == {"readings"}
    assert statistics(catalog_filter="other") == {} and statistics(db_schema_filter="other") == {}
    assert readings.adbc_get_statistic_names().read_all().num_rows == 0


def test_the_driver_says_who_it_is(connection):
    info = connection.adbc_get_info()
    assert info["vendor_name"] == "atsdb" and info["driver_adbc_version"] == 1_001_000
    assert info["vendor_version"] == info["driver_version"]
    assert connection.adbc_get_table_types() == ["table", "view", "rollup", "materialized view"]
    handle = connection.adbc_connection
    assert handle.get_option("adbc.connection.catalog") == "atsdb"
    assert handle.get_option("adbc.connection.db_schema") == "public"


def test_the_notice_of_the_last_call_is_an_option(connection):
    handle = connection.adbc_connection
    assert handle.get_option("atsdb.notice") == ""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE z (id INT PRIMARY KEY, deleted_at TIMESTAMP)")
        for _ in range(2):
            assert handle.get_option("atsdb.notice").startswith("column deleted_at becomes the time of table z")
        cursor.execute("SELECT 1")
    assert handle.get_option("atsdb.notice") == ""


def test_the_current_schema_is_an_option(path):
    with connect(path, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute('CREATE SCHEMA "Lab"')
        cursor.execute("CREATE TABLE t (a INT)")
        connection.adbc_current_db_schema = "lab"
        assert connection.adbc_current_db_schema == "Lab"
        cursor.execute("CREATE TABLE t (b INT)")
        assert connection.adbc_get_table_schema("t").names == ["b"]
        assert connection.adbc_get_table_schema("t", db_schema_filter="public").names == ["a"]
        with pytest.raises(connection.ProgrammingError, match="no schema named other") as missing:
            connection.adbc_current_db_schema = "other"
        assert missing.value.sqlstate == "3F000" and connection.adbc_current_db_schema == "Lab"
        cursor.execute("SET search_path TO nowhere, public")
        assert connection.adbc_current_db_schema == "public"
        cursor.execute("SET search_path TO nowhere")
        with pytest.raises(connection.ProgrammingError, match="search path"):
            connection.adbc_current_db_schema
        with connect(path) as other:
            assert other.adbc_current_db_schema == "public"
    with connect(path, conn_kwargs={"adbc.connection.db_schema": "lab"}) as connection:
        assert connection.adbc_get_table_schema("t").names == ["b"]


def test_options_are_checked(tmp_path):
    for options in [
        {"atsdb.threads": "0"},
        {"atsdb.memory_bytes": "many"},
        {"atsdb.temp_bytes": "much"},
        {"atsdb.timeout_seconds": "soon"},
        {"atsdb.busy_timeout_seconds": "1 month"},
        {"atsdb.durability": "some"},
        {"atsdb.read_only": "perhaps"},
        {"atsdb.colour": "blue"},
        {"username": "eva"},
    ]:
        with pytest.raises(Exception, match=list(options)[0] + "|durability|user"):
            connect(tmp_path / "a.db", **options)
    with pytest.raises(Exception, match="unknown kind of store"):
        connect("oracle://host/database")
    with pytest.raises(Exception, match=r"none\.db"):
        connect(tmp_path / "none.db", **{"atsdb.create": "false"})
    options = {"atsdb.threads": "2", "atsdb.cache_bytes": "8 MiB", "atsdb.durability": "off", "atsdb.maintenance": "false"}
    options |= {"atsdb.timeout_seconds": "2 minutes", "atsdb.busy_timeout_seconds": "500ms"}
    with connect("memory:", **options) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        for name in ["atsdb.none", "adbc.connection.db_schema"]:
            with pytest.raises(connection.Error):
                connection.adbc_connection.set_options(**{name: "x"})


def test_errors_have_a_kind_a_state_and_a_hint(readings):
    with readings.cursor() as cursor:
        with pytest.raises(readings.ProgrammingError, match="did you mean sensor") as wrong:
            cursor.execute("SELECT sensr FROM readings")
        assert wrong.value.sqlstate == "42703"
        assert dict(wrong.value.details)[b"atsdb.kind"] == b"sql"
        with pytest.raises(readings.IntegrityError) as twice:
            cursor.execute("INSERT INTO readings SELECT * FROM readings")
            readings.commit()
        assert twice.value.sqlstate == "23505"
        readings.rollback()
        with pytest.raises(readings.NotSupportedError, match="Substrait"):
            cursor.execute(b"plan")
        with pytest.raises(readings.NotSupportedError, match="no partitions"):
            cursor.adbc_execute_partitions("SELECT 1")
        with pytest.raises(readings.ProgrammingError, match="no statement"):
            cursor.execute(" -- nothing")


def test_a_store_is_shared_with_other_connections(readings, path):
    with connect(path) as other, other.cursor() as cursor:
        cursor.execute("SELECT sensor, highest FROM tops ORDER BY sensor")
        found = cursor.fetch_arrow_table().to_pydict()
        assert found == {"sensor": ["garden", "kitchen"], "highest": [3.25, 14.5]}
