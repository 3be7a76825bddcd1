//! The columns of tables of the catalogue that tools for administration ask for. Most of them never have rows.

/// Tables of `pg_catalog`, with their columns as `name type, name type`.
pub(super) const CATALOGUE: [(&str, &str); 24] = [
    (
        "pg_cursors",
        "name text, statement text, is_holdable bool, is_binary bool, is_scrollable bool, creation_time \
         timestamptz",
    ),
    (
        "pg_file_settings",
        "sourcefile text, sourceline int4, seqno int4, name text, setting text, applied bool, error text",
    ),
    ("pg_group", "groname name, grosysid oid, grolist _oid"),
    (
        "pg_hba_file_rules",
        "line_number int4, type text, database _text, user_name _text, address text, netmask text, auth_method \
         text, options _text, error text",
    ),
    ("pg_init_privs", "objoid oid, classoid oid, objsubid int4, privtype char, initprivs _aclitem"),
    (
        "pg_policies",
        "schemaname name, tablename name, policyname name, permissive text, roles _name, cmd text, qual text, \
         with_check text",
    ),
    (
        "pg_replication_slots",
        "slot_name name, plugin name, slot_type text, datoid oid, database name, temporary bool, active bool, \
         active_pid int4, xmin xid, catalog_xmin xid, restart_lsn pg_lsn, confirmed_flush_lsn pg_lsn, wal_status \
         text, safe_wal_size int8, two_phase bool",
    ),
    ("pg_rules", "schemaname name, tablename name, rulename name, definition text"),
    ("pg_seclabel", "objoid oid, classoid oid, objsubid int4, provider text, label text"),
    (
        "pg_shadow",
        "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool, passwd \
         text, valuntil timestamptz, useconfig _text",
    ),
    ("pg_shseclabel", "objoid oid, classoid oid, provider text, label text"),
    (
        "pg_stat_all_indexes",
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8, idx_tup_read \
         int8, idx_tup_fetch int8",
    ),
    (
        "pg_stat_all_tables",
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch \
         int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup \
         int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, last_autovacuum \
         timestamptz, last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count \
         int8, analyze_count int8, autoanalyze_count int8",
    ),
    (
        "pg_stat_bgwriter",
        "checkpoints_timed int8, checkpoints_req int8, checkpoint_write_time float8, checkpoint_sync_time float8, \
         buffers_checkpoint int8, buffers_clean int8, maxwritten_clean int8, buffers_backend int8, \
         buffers_backend_fsync int8, buffers_alloc int8, stats_reset timestamptz",
    ),
    (
        "pg_stat_database",
        "datid oid, datname name, numbackends int4, xact_commit int8, xact_rollback int8, blks_read int8, \
         blks_hit int8, tup_returned int8, tup_fetched int8, tup_inserted int8, tup_updated int8, tup_deleted \
         int8, conflicts int8, temp_files int8, temp_bytes int8, deadlocks int8, checksum_failures int8, \
         checksum_last_failure timestamptz, blk_read_time float8, blk_write_time float8, session_time float8, \
         active_time float8, idle_in_transaction_time float8, sessions int8, sessions_abandoned int8, \
         sessions_fatal int8, sessions_killed int8, stats_reset timestamptz",
    ),
    (
        "pg_stat_replication",
        "pid int4, usesysid oid, usename name, application_name text, client_addr inet, client_hostname text, \
         client_port int4, backend_start timestamptz, backend_xmin xid, state text, sent_lsn pg_lsn, write_lsn \
         pg_lsn, flush_lsn pg_lsn, replay_lsn pg_lsn, write_lag interval, flush_lag interval, replay_lag \
         interval, sync_priority int4, sync_state text, reply_time timestamptz",
    ),
    (
        "pg_stat_ssl",
        "pid int4, ssl bool, version text, cipher text, bits int4, client_dn text, client_serial numeric, \
         issuer_dn text",
    ),
    (
        "pg_stat_user_indexes",
        "relid oid, indexrelid oid, schemaname name, relname name, indexrelname name, idx_scan int8, idx_tup_read \
         int8, idx_tup_fetch int8",
    ),
    (
        "pg_stat_user_tables",
        "relid oid, schemaname name, relname name, seq_scan int8, seq_tup_read int8, idx_scan int8, idx_tup_fetch \
         int8, n_tup_ins int8, n_tup_upd int8, n_tup_del int8, n_tup_hot_upd int8, n_live_tup int8, n_dead_tup \
         int8, n_mod_since_analyze int8, n_ins_since_vacuum int8, last_vacuum timestamptz, last_autovacuum \
         timestamptz, last_analyze timestamptz, last_autoanalyze timestamptz, vacuum_count int8, autovacuum_count \
         int8, analyze_count int8, autoanalyze_count int8",
    ),
    (
        "pg_statio_user_tables",
        "relid oid, schemaname name, relname name, heap_blks_read int8, heap_blks_hit int8, idx_blks_read int8, \
         idx_blks_hit int8, toast_blks_read int8, toast_blks_hit int8, tidx_blks_read int8, tidx_blks_hit int8",
    ),
    ("pg_timezone_abbrevs", "abbrev text, utc_offset interval, is_dst bool"),
    ("pg_transform", "oid oid, trftype oid, trflang oid, trffromsql regproc, trftosql regproc"),
    ("pg_user_mapping", "oid oid, umuser oid, umserver oid, umoptions _text"),
    ("pg_user_mappings", "umid oid, srvid oid, srvname name, umuser oid, usename name, umoptions _text"),
];

/// Tables of `information_schema`.
pub(super) const STANDARD: [(&str, &str); 17] = [
    ("applicable_roles", "grantee name, role_name name, is_grantable varchar"),
    (
        "character_sets",
        "character_set_catalog name, character_set_schema name, character_set_name name, character_repertoire \
         name, form_of_use name, default_collate_catalog name, default_collate_schema name, default_collate_name \
         name",
    ),
    ("collations", "collation_catalog name, collation_schema name, collation_name name, pad_attribute varchar"),
    (
        "column_privileges",
        "grantor name, grantee name, table_catalog name, table_schema name, table_name name, column_name name, \
         privilege_type varchar, is_grantable varchar",
    ),
    (
        "constraint_table_usage",
        "table_catalog name, table_schema name, table_name name, constraint_catalog name, constraint_schema name, \
         constraint_name name",
    ),
    (
        "domains",
        "domain_catalog name, domain_schema name, domain_name name, data_type varchar, character_maximum_length \
         int4, character_octet_length int4, character_set_catalog name, character_set_schema name, \
         character_set_name name, collation_catalog name, collation_schema name, collation_name name, \
         numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, \
         interval_type varchar, interval_precision int4, domain_default varchar, udt_catalog name, udt_schema \
         name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, \
         dtd_identifier name",
    ),
    (
        "element_types",
        "object_catalog name, object_schema name, object_name name, object_type varchar, \
         collection_type_identifier name, data_type varchar, character_maximum_length int4, \
         character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name \
         name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, \
         numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, \
         interval_precision int4, domain_default varchar, udt_catalog name, udt_schema name, udt_name name, \
         scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name",
    ),
    ("enabled_roles", "role_name name"),
    (
        "foreign_tables",
        "foreign_table_catalog name, foreign_table_schema name, foreign_table_name name, foreign_server_catalog \
         name, foreign_server_name name",
    ),
    ("information_schema_catalog_name", "catalog_name name"),
    (
        "role_column_grants",
        "grantor name, grantee name, table_catalog name, table_schema name, table_name name, column_name name, \
         privilege_type varchar, is_grantable varchar",
    ),
    (
        "role_table_grants",
        "grantor name, grantee name, table_catalog name, table_schema name, table_name name, privilege_type \
         varchar, is_grantable varchar, with_hierarchy varchar",
    ),
    (
        "role_usage_grants",
        "grantor name, grantee name, object_catalog name, object_schema name, object_name name, object_type \
         varchar, privilege_type varchar, is_grantable varchar",
    ),
    (
        "routine_privileges",
        "grantor name, grantee name, specific_catalog name, specific_schema name, specific_name name, \
         routine_catalog name, routine_schema name, routine_name name, privilege_type varchar, is_grantable \
         varchar",
    ),
    (
        "usage_privileges",
        "grantor name, grantee name, object_catalog name, object_schema name, object_name name, object_type \
         varchar, privilege_type varchar, is_grantable varchar",
    ),
    (
        "view_column_usage",
        "view_catalog name, view_schema name, view_name name, table_catalog name, table_schema name, table_name \
         name, column_name name",
    ),
    (
        "view_table_usage",
        "view_catalog name, view_schema name, view_name name, table_catalog name, table_schema name, table_name \
         name",
    ),
];
