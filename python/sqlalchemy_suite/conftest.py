"""SQLAlchemy's own test suite for dialects, on this one. Run in this folder, against the package that is installed, with
``--dburi atsdb:////tmp/suite.db``: tests make more than one engine for a store, which in memory would be more than one store."""

import pytest
from sqlalchemy import event
from sqlalchemy.dialects import registry

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")
# The suite names a dialect together with its driver.
registry.register("atsdb.atsdb", "atsdb.sqlalchemy", "AtsdbDialect")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403
from sqlalchemy.testing.provision import post_configure_testing_engine, temp_table_keyword_args  # noqa: E402


@post_configure_testing_engine.for_db("atsdb")
def create_schema(url, engine, options, scope):
    """The suite expects this schema."""

    @event.listens_for(engine, "connect")
    def connected(connection, record):
        connection.execute("CREATE SCHEMA IF NOT EXISTS test_schema")
        connection.commit()


@temp_table_keyword_args.for_db("atsdb")
def temporary(cfg, eng):
    return {"prefixes": ["TEMPORARY"]}
