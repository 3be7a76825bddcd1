"""Runs SQLAlchemy's suite for dialects without what atsdb does not have."""

import pytest

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.dialects.postgresql import base, provision
from sqlalchemy.testing.plugin.pytestplugin import *

# Extensions cannot be installed.
provision._extensions.clear()
# Tables are declared without foreign keys and CHECK.
base.PGDDLCompiler.visit_foreign_key_constraint = lambda *_, **__: None
base.PGDDLCompiler.visit_check_constraint = lambda *_, **__: None
base.PGDDLCompiler.visit_column_check_constraint = lambda *_, **__: ""
base.PGDialect.supports_comments = False
base.PGDialect.supports_constraint_comments = False
base.PGDialect.supports_native_enum = False
