"""SQLAlchemy's own test suite for dialects, on this one. Run in this folder, against the package that is installed."""

import pytest
from sqlalchemy.dialects import registry

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")
# The suite names a dialect together with its driver.
registry.register("atsdb.atsdb", "atsdb.sqlalchemy", "AtsdbDialect")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403
