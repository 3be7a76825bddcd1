"""Migrations by Alembic."""

import pytest

sa = pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")

from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code  # noqa: E402
from alembic.migration import MigrationContext  # noqa: E402
from alembic.operations import Operations  # noqa: E402

import atsdb.alembic  # noqa: E402, F401

OPTIONS = {"compare_type": True, "compare_server_default": True}


@pytest.fixture
def connection():
    engine = sa.create_engine("atsdb://")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def declared():
    metadata = sa.MetaData()
    sa.Table(
        "rooms",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(30), nullable=False, index=True),
        sa.Column("code", sa.String(30), unique=True, index=True),
        sa.Column("kind", sa.Enum("indoor", "outdoor", name="kind"), server_default="indoor"),
        sa.Column("size", sa.Numeric(10, 2), server_default=sa.text("7")),
        sa.Column("any", sa.Numeric),
        sa.Column("tags", sa.ARRAY(sa.Text)),
        sa.Column("more", sa.JSON),
        sa.Column("since", sa.DateTime(timezone=True), server_default=sa.func.now()),
        sa.UniqueConstraint("name", "kind", name="uq_rooms"),
    )
    sa.Table(
        "readings",
        metadata,
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sensor", sa.Text, atsdb_map="u16"),
        sa.Column("value", sa.Double),
        atsdb_time="time",
        atsdb_slice="month",
    )
    return metadata


def test_a_generated_migration_leaves_no_difference(connection):
    context = MigrationContext.configure(connection, opts=OPTIONS)
    assert context.impl.transactional_ddl
    code = render_python_code(produce_migrations(context, declared()).upgrade_ops)
    exec(f"if True:\n    {code}", {"op": Operations(context), "sa": sa})
    assert compare_metadata(context, declared()) == []
    metadata = declared()
    metadata.tables["rooms"].append_column(sa.Column("floor", sa.Integer))
    metadata.remove(metadata.tables["readings"])
    assert [difference[0] for difference in compare_metadata(context, metadata)] == ["remove_table", "add_column"]


def test_tables_are_altered(connection):
    declared().create_all(connection)
    operations = Operations(MigrationContext.configure(connection, opts=OPTIONS))
    operations.add_column("rooms", sa.Column("floor", sa.Integer))
    operations.alter_column("rooms", "floor", new_column_name="storey", type_=sa.BigInteger)
    operations.alter_column("rooms", "size", server_default="8")
    operations.create_index("by_storey", "rooms", ["storey"])
    operations.drop_constraint("uq_rooms", "rooms", type_="unique")
    operations.rename_table("rooms", "spaces")
    columns = {column["name"]: column for column in sa.inspect(connection).get_columns("spaces")}
    assert isinstance(columns["storey"]["type"], sa.BIGINT)
    assert "8.00" in columns["size"]["default"]
    assert {index["name"] for index in sa.inspect(connection).get_indexes("spaces")} == {
        "by_storey",
        "ix_rooms_code",
        "ix_rooms_name",
    }
    operations.drop_index("by_storey", "spaces")
    operations.drop_column("spaces", "storey")
    operations.drop_table("spaces")
    assert sa.inspect(connection).get_table_names() == ["readings"]


def test_a_migration_that_fails_changes_nothing(connection):
    context = MigrationContext.configure(connection, opts=OPTIONS)
    operations = Operations(context)
    with pytest.raises(sa.exc.DBAPIError):
        with context.begin_transaction():
            operations.create_table("rooms", sa.Column("id", sa.Integer))
            operations.drop_table("nothing")
    assert sa.inspect(connection).get_table_names() == []
