"""What the suite may expect. Comments are left out, which atsdb lacks, and so are foreign keys, CHECK and enumerations."""

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements


class Requirements(SuiteRequirements):
    foreign_keys = exclusions.closed()
    foreign_key_constraint_reflection = exclusions.closed()
    self_referential_foreign_keys = exclusions.closed()
    cross_schema_fk_reflection = exclusions.closed()
    check_constraint_reflection = exclusions.closed()
    enforces_check_constraints = exclusions.closed()
    comment_reflection = exclusions.closed()
    comment_reflection_full_unicode = exclusions.closed()
    constraint_comment_reflection = exclusions.closed()
    # As PostgreSQL's dialect has them.
    autoincrement_insert = exclusions.open()
    temp_table_names = exclusions.open()
    reflect_table_options = exclusions.open()
