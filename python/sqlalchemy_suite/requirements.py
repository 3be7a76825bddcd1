"""What atsdb has, of what the suite asks: where this differs from what the suite expects of every dialect."""

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

#: What not every dialect has.
HAS = [
    "aggregate_order_by",
    "array_type",
    "autocommit",
    "binary_literals",
    "boolean_col_expressions",
    "check_constraint_reflection",
    "create_or_replace_view",
    "create_table_as",
    "create_temp_table_as",
    "ctes",
    "ctes_on_dml",
    "ctes_with_update_delete",
    "ctes_with_values",
    "date_historic",
    "datetime_historic",
    "datetime_interval",
    "datetime_literals",
    "datetime_timezone",
    "datetime_timezone_historic",
    "delete_from",
    "except_",
    "fetch_expression",
    "fetch_first",
    "fetch_no_order_by",
    "fetch_offset_with_options",
    "fetch_ties",
    "fk_constraint_option_reflection_ondelete_restrict",
    "foreign_key_constraint_name_reflection",
    "foreign_key_constraint_option_reflection_ondelete",
    "foreign_key_constraint_option_reflection_onupdate",
    "has_temp_table",
    "identity_columns",
    "identity_columns_standard",
    "implicit_default_schema",
    "index_ddl_if_exists",
    "infinity_floats",
    "insert_executemany_returning",
    "intersect",
    "isolation_level",
    "json_type",
    "materialized_views",
    "mod_operator_as_percent_sign",
    "multivalues_inserts",
    "nullsordering",
    "order_by_label_with_expression",
    "percent_schema_names",
    "precision_numerics_enotation_small",
    "precision_numerics_many_significant_digits",
    "precision_numerics_retains_significant_digits",
    "reflect_table_options",
    "reflects_pk_names",
    "regexp_match",
    "regexp_replace",
    "savepoints",
    "schema_create_delete",
    "server_defaults",
    "supports_bitwise_and",
    "supports_bitwise_not",
    "supports_bitwise_or",
    "supports_bitwise_shift",
    "supports_bitwise_xor",
    "supports_distinct_on",
    "symbol_names_w_double_quote",
    "table_ddl_if_exists",
    "table_value_constructor",
    "temp_table_names",
    "temporary_views",
    "timestamp_microseconds",
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
    "duplicate_names_in_cursor_description": "two columns of a query that are the same expression need different names",
    "implements_get_lastrowid": "an INSERT returns the key itself",
    "repeated_column_foreign_keys": "a column belongs to one foreign key",
    "repeated_remote_col_foreign_keys": "a column belongs to one foreign key",
}


class Requirements(SuiteRequirements):
    def get_isolation_levels(self, config):
        return {"default": "REPEATABLE READ", "supported": ["REPEATABLE READ", "AUTOCOMMIT"]}


for _names, _answer in ((HAS, exclusions.open), (HAS_NOT, exclusions.closed)):
    for _name in _names:
        assert hasattr(SuiteRequirements, _name), _name
        setattr(Requirements, _name, property(lambda self, answer=_answer: answer()))
