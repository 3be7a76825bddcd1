"""The well-known compliance test of PEP 249, by Stuart Bishop (`pip install dbapi-compliance`)."""

import pytest

from atsdb import dbapi

dbapi20 = pytest.importorskip("dbapi20", reason="pip install dbapi-compliance")


class TestCompliance(dbapi20.DatabaseAPI20Test):
    driver = dbapi
    connect_args = ("memory:",)

    def _connect(self):
        # The suite reads in one connection what another one has written.
        if not hasattr(self, "database"):
            import atsdb

            self.database = atsdb.open("memory:")
        return dbapi.connect(self.database)

    def test_nextset(self):
        pytest.skip("a statement has one answer; nextset is optional")

    def test_setoutputsize(self):
        connection = self._connect()
        try:
            connection.cursor().setoutputsize(1000, 0)
        finally:
            connection.close()


del dbapi20
