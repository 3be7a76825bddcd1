"""What atsdb has, of what the suite asks: where this differs from what the suite expects of every dialect."""

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

#: What not every dialect has.
HAS = [
    "autocommit",
    "binary_literals",
    "boolean_col_expressions",
    "create_or_replace_view",
    "date_historic",
    "datetime_historic",
    "datetime_timezone",
    "except_",
    "insert_executemany_returning",
    "intersect",
    "isolation_level",
    "multivalues_inserts",
    "nullsordering",
    "order_by_label_with_expression",
    "precision_numerics_enotation_small",
    "savepoints",
    "server_defaults",
    "symbol_names_w_double_quote",
    "table_ddl_if_exists",
    "tuple_in",
    "tuple_in_w_empty",
    "unicode_ddl",
    "update_from",
    "uuid_data_type",
    "views",
    "window_functions",
]

#: What atsdb has not, and why.
HAS_NOT = {
    "autoincrement_insert": "no column numbers its rows",
    "duplicate_names_in_cursor_description": "columns of a query have different names",
    "foreign_key_constraint_reflection": "there are no foreign keys",
    "foreign_key_ddl": "there are no foreign keys",
    "foreign_keys": "there are no foreign keys",
    "implements_get_lastrowid": "no column numbers its rows",
    "schemas": "all tables are in one schema",
    "self_referential_foreign_keys": "there are no foreign keys",
    "temp_table_reflection": "there are no temporary tables",
    "temporary_tables": "there are no temporary tables",
    "time": "no column holds times of day",
    "time_implicit_bound": "no column holds times of day",
    "time_microseconds": "no column holds times of day",
}


class Requirements(SuiteRequirements):
    def get_isolation_levels(self, config):
        return {"default": "REPEATABLE READ", "supported": ["REPEATABLE READ", "AUTOCOMMIT"]}


for _names, _answer in ((HAS, exclusions.open), (HAS_NOT, exclusions.closed)):
    for _name in _names:
        assert hasattr(SuiteRequirements, _name), _name
        setattr(Requirements, _name, property(lambda self, answer=_answer: answer()))
