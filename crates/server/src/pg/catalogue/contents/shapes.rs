//! The columns of the tables of the catalogue.

use super::rare_shapes;
use crate::pg::types::known;

/// The tables of `pg_catalog`, with their columns as `name type, name type`. Some never have rows.
const CATALOGUE: [(&str, &str); 67] = [
    ("pg_namespace", "oid oid, nspname name, nspowner oid, nspacl _aclitem"),
    (
        "pg_class",
        "oid oid, relname name, relnamespace oid, reltype oid, reloftype oid, relowner oid, relam oid, relfilenode oid, \
         reltablespace oid, relpages int4, reltuples float4, relallvisible int4, reltoastrelid oid, relhasindex bool, \
         relisshared bool, relpersistence char, relkind char, relnatts int2, relchecks int2, relhasrules bool, \
         relhastriggers bool, relhassubclass bool, relrowsecurity bool, relforcerowsecurity bool, relispopulated bool, \
         relreplident char, relispartition bool, relrewrite oid, relfrozenxid xid, relminmxid xid, relacl _aclitem, \
         reloptions _text, relpartbound pg_node_tree",
    ),
    (
        "pg_attribute",
        "attrelid oid, attname name, atttypid oid, attstattarget int4, attlen int2, attnum int2, attndims int4, \
         attcacheoff int4, atttypmod int4, attbyval bool, attalign char, attstorage char, attcompression char, \
         attnotnull bool, atthasdef bool, atthasmissing bool, attidentity char, attgenerated char, attisdropped bool, \
         attislocal bool, attinhcount int4, attcollation oid, attacl _aclitem, attoptions _text, attfdwoptions _text, \
         attmissingval anyarray",
    ),
    ("pg_attrdef", "oid oid, adrelid oid, adnum int2, adbin pg_node_tree"),
    (
        "pg_type",
        "oid oid, typname name, typnamespace oid, typowner oid, typlen int2, typbyval bool, typtype char, \
         typcategory char, typispreferred bool, typisdefined bool, typdelim char, typrelid oid, typsubscript regproc, \
         typelem oid, typarray oid, typinput regproc, typoutput regproc, typreceive regproc, typsend regproc, \
         typmodin regproc, typmodout regproc, typanalyze regproc, typalign char, typstorage char, typnotnull bool, \
         typbasetype oid, typtypmod int4, typndims int4, typcollation oid, typdefaultbin pg_node_tree, typdefault text, \
         typacl _aclitem",
    ),
    (
        "pg_index",
        "indexrelid oid, indrelid oid, indnatts int2, indnkeyatts int2, indisunique bool, indnullsnotdistinct bool, \
         indisprimary bool, indisexclusion bool, indimmediate bool, indisclustered bool, indisvalid bool, \
         indcheckxmin bool, indisready bool, indislive bool, indisreplident bool, indkey int2vector, \
         indcollation oidvector, indclass oidvector, indoption int2vector, indexprs pg_node_tree, indpred pg_node_tree",
    ),
    (
        "pg_constraint",
        "oid oid, conname name, connamespace oid, contype char, condeferrable bool, condeferred bool, convalidated bool, \
         conrelid oid, contypid oid, conindid oid, conparentid oid, confrelid oid, confupdtype char, confdeltype char, \
         confmatchtype char, conislocal bool, coninhcount int4, connoinherit bool, conkey _int2, confkey _int2, \
         conpfeqop _oid, conppeqop _oid, conffeqop _oid, confdelsetcols _int2, conexclop _oid, conbin pg_node_tree",
    ),
    (
        "pg_tables",
        "schemaname name, tablename name, tableowner name, tablespace name, hasindexes bool, hasrules bool, hastriggers bool, rowsecurity bool",
    ),
    ("pg_views", "schemaname name, viewname name, viewowner name, definition text"),
    (
        "pg_matviews",
        "schemaname name, matviewname name, matviewowner name, tablespace name, hasindexes bool, ispopulated bool, definition text",
    ),
    ("pg_indexes", "schemaname name, tablename name, indexname name, tablespace name, indexdef text"),
    (
        "pg_database",
        "oid oid, datname name, datdba oid, encoding int4, datlocprovider char, datistemplate bool, datallowconn bool, \
         datconnlimit int4, datfrozenxid xid, datminmxid xid, dattablespace oid, datcollate text, datctype text, \
         daticulocale text, datcollversion text, datacl _aclitem",
    ),
    (
        "pg_roles",
        "rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, rolcanlogin bool, \
         rolreplication bool, rolconnlimit int4, rolpassword text, rolvaliduntil timestamptz, rolbypassrls bool, \
         rolconfig _text, oid oid",
    ),
    (
        "pg_authid",
        "oid oid, rolname name, rolsuper bool, rolinherit bool, rolcreaterole bool, rolcreatedb bool, rolcanlogin bool, \
         rolreplication bool, rolbypassrls bool, rolconnlimit int4, rolpassword text, rolvaliduntil timestamptz",
    ),
    (
        "pg_user",
        "usename name, usesysid oid, usecreatedb bool, usesuper bool, userepl bool, usebypassrls bool, passwd text, valuntil timestamptz, useconfig _text",
    ),
    ("pg_opfamily", "oid oid, opfmethod oid, opfname name, opfnamespace oid, opfowner oid"),
    ("pg_auth_members", "roleid oid, member oid, grantor oid, admin_option bool"),
    ("pg_db_role_setting", "setdatabase oid, setrole oid, setconfig _text"),
    ("pg_am", "oid oid, amname name, amhandler regproc, amtype char"),
    ("pg_tablespace", "oid oid, spcname name, spcowner oid, spcacl _aclitem, spcoptions _text"),
    (
        "pg_settings",
        "name text, setting text, unit text, category text, short_desc text, extra_desc text, context text, vartype text, \
         source text, min_val text, max_val text, enumvals _text, boot_val text, reset_val text, sourcefile text, \
         sourceline int4, pending_restart bool",
    ),
    (
        "pg_proc",
        "oid oid, proname name, pronamespace oid, proowner oid, prolang oid, procost float4, prorows float4, \
         provariadic oid, prosupport regproc, prokind char, prosecdef bool, proleakproof bool, proisstrict bool, \
         proretset bool, provolatile char, proparallel char, pronargs int2, pronargdefaults int2, prorettype oid, \
         proargtypes oidvector, proallargtypes _oid, proargmodes _char, proargnames _text, proargdefaults pg_node_tree, \
         protrftypes _oid, prosrc text, probin text, prosqlbody pg_node_tree, proconfig _text, proacl _aclitem",
    ),
    (
        "pg_language",
        "oid oid, lanname name, lanowner oid, lanispl bool, lanpltrusted bool, lanplcallfoid oid, laninline oid, lanvalidator oid, lanacl _aclitem",
    ),
    ("pg_description", "objoid oid, classoid oid, objsubid int4, description text"),
    ("pg_shdescription", "objoid oid, classoid oid, description text"),
    ("pg_inherits", "inhrelid oid, inhparent oid, inhseqno int4, inhdetachpending bool"),
    ("pg_enum", "oid oid, enumtypid oid, enumsortorder float4, enumlabel name"),
    (
        "pg_range",
        "rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid, rngcanonical regproc, rngsubdiff regproc",
    ),
    (
        "pg_collation",
        "oid oid, collname name, collnamespace oid, collowner oid, collprovider char, collisdeterministic bool, collencoding int4, collcollate text, collctype text, colliculocale text, collversion text",
    ),
    (
        "pg_opclass",
        "oid oid, opcmethod oid, opcname name, opcnamespace oid, opcowner oid, opcfamily oid, opcintype oid, opcdefault bool, opckeytype oid",
    ),
    (
        "pg_operator",
        "oid oid, oprname name, oprnamespace oid, oprowner oid, oprkind char, oprcanmerge bool, oprcanhash bool, oprleft oid, oprright oid, oprresult oid, oprcom oid, oprnegate oid, oprcode regproc, oprrest regproc, oprjoin regproc",
    ),
    (
        "pg_aggregate",
        "aggfnoid regproc, aggkind char, aggnumdirectargs int2, aggtransfn regproc, aggfinalfn regproc, \
         aggcombinefn regproc, aggserialfn regproc, aggdeserialfn regproc, aggmtransfn regproc, aggminvtransfn \
         regproc, aggmfinalfn regproc, aggfinalextra bool, aggmfinalextra bool, aggfinalmodify char, \
         aggmfinalmodify char, aggsortop oid, aggtranstype oid, aggtransspace int4, aggmtranstype oid, \
         aggmtransspace int4, agginitval text, aggminitval text",
    ),
    (
        "pg_trigger",
        "oid oid, tgrelid oid, tgparentid oid, tgname name, tgfoid oid, tgtype int2, tgenabled char, tgisinternal bool, tgconstrrelid oid, tgconstrindid oid, tgconstraint oid, tgdeferrable bool, tginitdeferred bool, tgnargs int2, tgattr int2vector, tgargs bytea, tgqual pg_node_tree, tgoldtable name, tgnewtable name",
    ),
    (
        "pg_rewrite",
        "oid oid, rulename name, ev_class oid, ev_type char, ev_enabled char, is_instead bool, ev_qual pg_node_tree, ev_action pg_node_tree",
    ),
    (
        "pg_policy",
        "oid oid, polname name, polrelid oid, polcmd char, polpermissive bool, polroles _oid, polqual pg_node_tree, polwithcheck pg_node_tree",
    ),
    (
        "pg_statistic_ext",
        "oid oid, stxrelid oid, stxname name, stxnamespace oid, stxowner oid, stxstattarget int4, stxkeys int2vector, stxkind _char, stxexprs pg_node_tree",
    ),
    (
        "pg_publication",
        "oid oid, pubname name, pubowner oid, puballtables bool, pubinsert bool, pubupdate bool, pubdelete bool, pubtruncate bool, pubviaroot bool",
    ),
    ("pg_publication_rel", "oid oid, prpubid oid, prrelid oid, prqual pg_node_tree, prattrs int2vector"),
    ("pg_publication_namespace", "oid oid, pnpubid oid, pnnspid oid"),
    (
        "pg_subscription",
        "oid oid, subdbid oid, subskiplsn text, subname name, subowner oid, subenabled bool, subbinary bool, \
         substream bool, subtwophasestate char, subdisableonerr bool, subconninfo text, subslotname name, \
         subsynccommit text, subpublications _text",
    ),
    (
        "pg_partitioned_table",
        "partrelid oid, partstrat char, partnatts int2, partdefid oid, partattrs int2vector, partclass oidvector, partcollation oidvector, partexprs pg_node_tree",
    ),
    ("pg_foreign_table", "ftrelid oid, ftserver oid, ftoptions _text"),
    (
        "pg_foreign_server",
        "oid oid, srvname name, srvowner oid, srvfdw oid, srvtype text, srvversion text, srvacl _aclitem, srvoptions _text",
    ),
    (
        "pg_foreign_data_wrapper",
        "oid oid, fdwname name, fdwowner oid, fdwhandler oid, fdwvalidator oid, fdwacl _aclitem, fdwoptions _text",
    ),
    (
        "pg_extension",
        "oid oid, extname name, extowner oid, extnamespace oid, extrelocatable bool, extversion text, extconfig _oid, extcondition _text",
    ),
    ("pg_available_extensions", "name name, default_version text, installed_version text, comment text"),
    (
        "pg_event_trigger",
        "oid oid, evtname name, evtevent name, evtowner oid, evtfoid oid, evtenabled char, evttags _text",
    ),
    (
        "pg_sequence",
        "seqrelid oid, seqtypid oid, seqstart int8, seqincrement int8, seqmax int8, seqmin int8, seqcache int8, seqcycle bool",
    ),
    (
        "pg_sequences",
        "schemaname name, sequencename name, sequenceowner name, data_type regtype, start_value int8, min_value int8, max_value int8, increment_by int8, cycle bool, cache_size int8, last_value int8",
    ),
    (
        "pg_depend",
        "classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, refobjsubid int4, deptype char",
    ),
    ("pg_shdepend", "dbid oid, classid oid, objid oid, objsubid int4, refclassid oid, refobjid oid, deptype char"),
    ("pg_cast", "oid oid, castsource oid, casttarget oid, castfunc oid, castcontext char, castmethod char"),
    (
        "pg_conversion",
        "oid oid, conname name, connamespace oid, conowner oid, conforencoding int4, contoencoding int4, conproc regproc, condefault bool",
    ),
    ("pg_default_acl", "oid oid, defaclrole oid, defaclnamespace oid, defaclobjtype char, defaclacl _aclitem"),
    ("pg_largeobject_metadata", "oid oid, lomowner oid, lomacl _aclitem"),
    (
        "pg_seclabels",
        "objoid oid, classoid oid, objsubid int4, objtype text, objnamespace oid, objname text, provider text, \
         label text",
    ),
    ("pg_ts_config", "oid oid, cfgname name, cfgnamespace oid, cfgowner oid, cfgparser oid"),
    ("pg_ts_dict", "oid oid, dictname name, dictnamespace oid, dictowner oid, dicttemplate oid, dictinitoption text"),
    (
        "pg_ts_parser",
        "oid oid, prsname name, prsnamespace oid, prsstart regproc, prstoken regproc, prsend regproc, \
         prsheadline regproc, prslextype regproc",
    ),
    ("pg_ts_template", "oid oid, tmplname name, tmplnamespace oid, tmplinit regproc, tmpllexize regproc"),
    (
        "pg_amop",
        "oid oid, amopfamily oid, amoplefttype oid, amoprighttype oid, amopstrategy int2, amoppurpose char, amopopr oid, \
         amopmethod oid, amopsortfamily oid",
    ),
    ("pg_amproc", "oid oid, amprocfamily oid, amproclefttype oid, amprocrighttype oid, amprocnum int2, amproc regproc"),
    ("pg_parameter_acl", "oid oid, parname text, paracl _aclitem"),
    (
        "pg_locks",
        "locktype text, database oid, relation oid, page int4, tuple int2, virtualxid text, transactionid xid, \
         classid oid, objid oid, objsubid int2, virtualtransaction text, pid int4, mode text, granted bool, \
         fastpath bool, waitstart timestamptz",
    ),
    (
        "pg_prepared_statements",
        "name text, statement text, prepare_time timestamptz, parameter_types _regtype, from_sql bool, \
         generic_plans int8, custom_plans int8",
    ),
    ("pg_prepared_xacts", "transaction xid, gid text, prepared timestamptz, owner name, database name"),
    ("pg_timezone_names", "name text, abbrev text, utc_offset interval, is_dst bool"),
];

const STANDARD: [(&str, &str); 14] = [
    (
        "tables",
        "table_catalog name, table_schema name, table_name name, table_type varchar, self_referencing_column_name name, \
         reference_generation varchar, user_defined_type_catalog name, user_defined_type_schema name, \
         user_defined_type_name name, is_insertable_into varchar, is_typed varchar, commit_action varchar",
    ),
    (
        "columns",
        "table_catalog name, table_schema name, table_name name, column_name name, ordinal_position int4, \
         column_default varchar, is_nullable varchar, data_type varchar, character_maximum_length int4, \
         character_octet_length int4, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, \
         datetime_precision int4, interval_type varchar, interval_precision int4, character_set_catalog name, \
         character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, \
         collation_name name, domain_catalog name, domain_schema name, domain_name name, udt_catalog name, \
         udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, \
         maximum_cardinality int4, dtd_identifier name, is_self_referencing varchar, is_identity varchar, \
         identity_generation varchar, identity_start varchar, identity_increment varchar, identity_maximum varchar, \
         identity_minimum varchar, identity_cycle varchar, is_generated varchar, generation_expression varchar, \
         is_updatable varchar",
    ),
    (
        "views",
        "table_catalog name, table_schema name, table_name name, view_definition varchar, check_option varchar, is_updatable varchar, is_insertable_into varchar, is_trigger_updatable varchar, is_trigger_deletable varchar, is_trigger_insertable_into varchar",
    ),
    (
        "schemata",
        "catalog_name name, schema_name name, schema_owner name, default_character_set_catalog name, default_character_set_schema name, default_character_set_name name, sql_path varchar",
    ),
    (
        "table_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, table_catalog name, table_schema name, table_name name, constraint_type varchar, is_deferrable varchar, initially_deferred varchar, enforced varchar, nulls_distinct varchar",
    ),
    (
        "key_column_usage",
        "constraint_catalog name, constraint_schema name, constraint_name name, table_catalog name, table_schema name, table_name name, column_name name, ordinal_position int4, position_in_unique_constraint int4",
    ),
    (
        "constraint_column_usage",
        "table_catalog name, table_schema name, table_name name, column_name name, constraint_catalog name, constraint_schema name, constraint_name name",
    ),
    (
        "referential_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, unique_constraint_catalog name, unique_constraint_schema name, unique_constraint_name name, match_option varchar, update_rule varchar, delete_rule varchar",
    ),
    (
        "check_constraints",
        "constraint_catalog name, constraint_schema name, constraint_name name, check_clause varchar",
    ),
    (
        "sequences",
        "sequence_catalog name, sequence_schema name, sequence_name name, data_type varchar, numeric_precision \
         int4, numeric_precision_radix int4, numeric_scale int4, start_value varchar, minimum_value varchar, \
         maximum_value varchar, increment varchar, cycle_option varchar",
    ),
    (
        "routines",
        "specific_catalog name, specific_schema name, specific_name name, routine_catalog name, routine_schema \
         name, routine_name name, routine_type varchar, module_catalog name, module_schema name, module_name name, \
         udt_catalog name, udt_schema name, udt_name name, data_type varchar, character_maximum_length int4, \
         character_octet_length int4, character_set_catalog name, character_set_schema name, character_set_name \
         name, collation_catalog name, collation_schema name, collation_name name, numeric_precision int4, \
         numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type varchar, \
         interval_precision int4, type_udt_catalog name, type_udt_schema name, type_udt_name name, scope_catalog \
         name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name, routine_body \
         varchar, routine_definition varchar, external_name varchar, external_language varchar, parameter_style \
         varchar, is_deterministic varchar, sql_data_access varchar, is_null_call varchar, sql_path varchar, \
         schema_level_routine varchar, max_dynamic_result_sets int4, is_user_defined_cast varchar, \
         is_implicitly_invocable varchar, security_type varchar, to_sql_specific_catalog name, \
         to_sql_specific_schema name, to_sql_specific_name name, as_locator varchar, created timestamptz, \
         last_altered timestamptz, new_savepoint_level varchar, is_udt_dependent varchar, \
         result_cast_from_data_type varchar, result_cast_as_locator varchar, result_cast_char_max_length int4, \
         result_cast_char_octet_length int4, result_cast_char_set_catalog name, result_cast_char_set_schema name, \
         result_cast_char_set_name name, result_cast_collation_catalog name, result_cast_collation_schema name, \
         result_cast_collation_name name, result_cast_numeric_precision int4, result_cast_numeric_precision_radix \
         int4, result_cast_numeric_scale int4, result_cast_datetime_precision int4, result_cast_interval_type \
         varchar, result_cast_interval_precision int4, result_cast_type_udt_catalog name, \
         result_cast_type_udt_schema name, result_cast_type_udt_name name, result_cast_scope_catalog name, \
         result_cast_scope_schema name, result_cast_scope_name name, result_cast_maximum_cardinality int4, \
         result_cast_dtd_identifier name",
    ),
    (
        "parameters",
        "specific_catalog name, specific_schema name, specific_name name, ordinal_position int4, parameter_mode \
         varchar, is_result varchar, as_locator varchar, parameter_name name, data_type varchar, \
         character_maximum_length int4, character_octet_length int4, character_set_catalog name, \
         character_set_schema name, character_set_name name, collation_catalog name, collation_schema name, \
         collation_name name, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, \
         datetime_precision int4, interval_type varchar, interval_precision int4, udt_catalog name, udt_schema \
         name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, \
         dtd_identifier name, parameter_default varchar",
    ),
    (
        "triggers",
        "trigger_catalog name, trigger_schema name, trigger_name name, event_manipulation varchar, \
         event_object_catalog name, event_object_schema name, event_object_table name, action_order int4, \
         action_condition varchar, action_statement varchar, action_orientation varchar, action_timing varchar, \
         action_reference_old_table name, action_reference_new_table name, action_reference_old_row name, \
         action_reference_new_row name, created timestamptz",
    ),
    (
        "table_privileges",
        "grantor name, grantee name, table_catalog name, table_schema name, table_name name, privilege_type varchar, is_grantable varchar, with_hierarchy varchar",
    ),
];

/// Internal tables in which functions look up values, and functions that return tables.
const INTERNAL: [(&str, &str, &str); 9] = [
    ("internal", "constraints", "oid oid, definition text"),
    ("internal", "functions", "oid oid, result text, arguments text"),
    ("internal", "indexes", "oid oid, definition text, columns _text"),
    ("internal", "views", "oid oid, definition text"),
    ("internal", "sizes", "oid oid, bytes int8"),
    ("function", "pg_get_keywords", "word text, catcode char, barelabel bool, catdesc text, baredesc text"),
    ("function", "pg_options_to_table", "option_name text, option_value text"),
    ("function", "pg_stat_get_activity", "pid int4, datid oid"),
    ("function", "pg_partition_tree", "relid regclass, parentrelid regclass, isleaf bool, level int4"),
];

/// The sessions and statements of the database. Users without the role `admin` see only their own.
const ACTIVITY: &str = "datid oid, datname name, pid int4, leader_pid int4, usesysid oid, usename name, \
     application_name text, client_addr inet, client_hostname text, client_port int4, backend_start timestamptz, \
     xact_start timestamptz, query_start timestamptz, state_change timestamptz, wait_event_type text, wait_event text, \
     state text, backend_xid xid, backend_xmin xid, query_id int8, query text, backend_type text";

/// PostgreSQL's numbers of its own tables, which some clients contain as constants.
const NUMBERS: [(&str, i64); 53] = [
    ("pg_default_acl", 826),
    ("pg_tablespace", 1213),
    ("pg_shdepend", 1214),
    ("pg_type", 1247),
    ("pg_attribute", 1249),
    ("pg_proc", 1255),
    ("pg_class", 1259),
    ("pg_authid", 1260),
    ("pg_auth_members", 1261),
    ("pg_database", 1262),
    ("pg_foreign_server", 1417),
    ("pg_sequence", 2224),
    ("pg_foreign_data_wrapper", 2328),
    ("pg_shdescription", 2396),
    ("pg_aggregate", 2600),
    ("pg_am", 2601),
    ("pg_amop", 2602),
    ("pg_amproc", 2603),
    ("pg_attrdef", 2604),
    ("pg_cast", 2605),
    ("pg_constraint", 2606),
    ("pg_conversion", 2607),
    ("pg_depend", 2608),
    ("pg_description", 2609),
    ("pg_index", 2610),
    ("pg_inherits", 2611),
    ("pg_language", 2612),
    ("pg_namespace", 2615),
    ("pg_opclass", 2616),
    ("pg_operator", 2617),
    ("pg_opfamily", 2753),
    ("pg_rewrite", 2618),
    ("pg_trigger", 2620),
    ("pg_db_role_setting", 2964),
    ("pg_largeobject_metadata", 2995),
    ("pg_extension", 3079),
    ("pg_foreign_table", 3118),
    ("pg_policy", 3256),
    ("pg_partitioned_table", 3350),
    ("pg_statistic_ext", 3381),
    ("pg_collation", 3456),
    ("pg_event_trigger", 3466),
    ("pg_enum", 3501),
    ("pg_range", 3541),
    ("pg_ts_dict", 3600),
    ("pg_ts_parser", 3601),
    ("pg_ts_config", 3602),
    ("pg_ts_template", 3764),
    ("pg_subscription", 6100),
    ("pg_publication", 6104),
    ("pg_publication_rel", 6106),
    ("pg_publication_namespace", 6237),
    ("pg_parameter_acl", 6243),
];

/// The columns of a table of the catalogue.
pub(super) fn shape(schema: &str, name: &str) -> Option<&'static str> {
    let found = |list: &'static [(&'static str, &'static str)]| {
        list.iter().find(|(known, _)| *known == name).map(|(_, shape)| *shape)
    };
    match schema {
        "pg_catalog" if name == "pg_stat_activity" => Some(ACTIVITY),
        "pg_catalog" => found(&CATALOGUE).or_else(|| found(&rare_shapes::CATALOGUE)),
        "information_schema" => found(&STANDARD).or_else(|| found(&rare_shapes::STANDARD)),
        _ => {
            let known = INTERNAL.iter().find(|(known_schema, known, _)| *known_schema == schema && *known == name);
            known.map(|(_, _, shape)| *shape)
        }
    }
}

/// The number, schema, name and columns of the tables that clients see.
pub(super) fn system_tables() -> impl Iterator<Item = (i64, &'static str, &'static str, &'static str)> {
    let catalogue = CATALOGUE.iter().chain(&rare_shapes::CATALOGUE).enumerate().map(|(position, (name, shape))| {
        let known = NUMBERS.iter().find(|(known, _)| known == name).map(|(_, number)| *number);
        (known.unwrap_or(12_000 + position as i64), "pg_catalog", *name, *shape)
    });
    let standard = STANDARD.iter().chain(&rare_shapes::STANDARD).enumerate();
    let standard =
        standard.map(|(position, (name, shape))| (13_100 + position as i64, "information_schema", *name, *shape));
    catalogue.chain(standard)
}

/// The number of a table of the catalogue.
pub(super) fn number_of(name: &str) -> i64 {
    system_tables().find(|(_, schema, known, _)| *schema == "pg_catalog" && *known == name).map_or(0, |found| found.0)
}

/// The type of the columns with this name in any table of the catalogue.
pub(super) fn type_of_column(name: &str) -> Option<u32> {
    let rare = rare_shapes::CATALOGUE.iter().chain(&rare_shapes::STANDARD);
    let shapes = CATALOGUE.iter().chain(&STANDARD).chain(rare).map(|(_, shape)| *shape).chain([ACTIVITY]);
    shapes.flat_map(|shape| shape.split(", ")).find_map(|column| {
        let (known, type_name) = column.split_once(' ')?;
        (known == name).then(|| type_of(type_name))
    })
}

/// The number of a type, by its name in `pg_type`.
pub(super) fn type_of(name: &str) -> u32 {
    match name.strip_prefix('_') {
        Some(element) => known::by_name(element).map_or(known::TEXT, |element| element.array),
        None => known::by_name(name).map_or(known::TEXT, |known| known.id),
    }
}
