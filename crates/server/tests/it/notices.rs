//! Notices about what a statement leaves out, as psql shows them.

use crate::support::Served;

#[test]
fn what_is_left_out_is_said() {
    let served = Served::with_tables();
    let statements = "CREATE SCHEMA s;\nCREATE SEQUENCE up;\n\
        DROP TABLE IF EXISTS nowhere.t, public.Nope, \"No\";\n\
        DROP VIEW IF EXISTS s.v;\n\
        DROP INDEX IF EXISTS i, s.i;\n\
        DROP SEQUENCE IF EXISTS no.seq, seq;\n\
        DROP SCHEMA IF EXISTS q;\n\
        CREATE INDEX IF NOT EXISTS readings_count ON readings (count);\n\
        CREATE SCHEMA IF NOT EXISTS s;\n\
        CREATE TABLE IF NOT EXISTS sensors (a INT);\n\
        CREATE TABLE IF NOT EXISTS public.sensors AS SELECT 1 AS a;\n\
        CREATE SEQUENCE IF NOT EXISTS up;\n\
        ALTER TABLE IF EXISTS nope ADD COLUMN c INT;\n\
        ALTER TABLE IF EXISTS nope SET SCHEMA s;\n\
        ALTER TABLE IF EXISTS nope RENAME COLUMN a TO b;\n\
        ALTER TABLE IF EXISTS nope ALTER COLUMN a ADD GENERATED ALWAYS AS IDENTITY;\n\
        ALTER SEQUENCE IF EXISTS nope RESTART;\n\
        ALTER TABLE sensors ADD COLUMN IF NOT EXISTS Name TEXT, ADD COLUMN IF NOT EXISTS other INT;\n\
        ALTER TABLE sensors ADD COLUMN IF NOT EXISTS other INT;\n\
        ALTER TABLE sensors DROP COLUMN IF EXISTS Nothing, DROP COLUMN IF EXISTS \"No\", DROP COLUMN IF EXISTS other;\n\
        ALTER TABLE sensors DROP CONSTRAINT IF EXISTS nothing;\n\
        DROP TABLE IF EXISTS sensors;\n";
    let Some(found) = served.psql(&[], statements) else { return };
    let notices: Vec<&str> = found.lines().filter(|line| line.contains("NOTICE") || line.contains("ERROR")).collect();
    let expected = [
        "00000: schema \"nowhere\" does not exist, skipping",
        "00000: table \"nope\" does not exist, skipping",
        "00000: table \"No\" does not exist, skipping",
        "00000: view \"v\" does not exist, skipping",
        // PostgreSQL says it twice.
        "00000: index \"i\" does not exist, skipping",
        "00000: schema \"no\" does not exist, skipping",
        "00000: sequence \"seq\" does not exist, skipping",
        "00000: schema \"q\" does not exist, skipping",
        "42P07: relation \"readings_count\" already exists, skipping",
        "42P06: schema \"s\" already exists, skipping",
        "42P07: relation \"sensors\" already exists, skipping",
        "42P07: relation \"sensors\" already exists, skipping",
        "42P07: relation \"up\" already exists, skipping",
        "00000: relation \"nope\" does not exist, skipping",
        "00000: relation \"nope\" does not exist, skipping",
        "00000: relation \"nope\" does not exist, skipping",
        "00000: relation \"nope\" does not exist, skipping",
        "00000: relation \"nope\" does not exist, skipping",
        "42701: column \"name\" of relation \"sensors\" already exists, skipping",
        "42701: column \"other\" of relation \"sensors\" already exists, skipping",
        "00000: column \"nothing\" of relation \"sensors\" does not exist, skipping",
        "00000: column \"No\" of relation \"sensors\" does not exist, skipping",
        "00000: constraint \"nothing\" of relation \"sensors\" does not exist, skipping",
    ];
    assert_eq!(notices, expected.map(|notice| format!("NOTICE:  {notice}")), "{found}");
}

#[test]
fn clients_may_silence_notices() {
    let served = Served::with_tables();
    for (level, is_silent) in [("notice", false), ("warning", true), ("error", true), ("log", false)] {
        let script = format!("SET client_min_messages = {level};\nDROP TABLE IF EXISTS nope;\nVACUUM;\n");
        let Some(found) = served.psql(&[], &script) else { return };
        assert_eq!(found.matches("NOTICE").count(), if is_silent { 0 } else { 2 }, "{level}: {found}");
    }
    for (level, is_silent) in [("notice", false), ("warning", false), ("error", true)] {
        let Some(found) = served.psql(&[], &format!("SET client_min_messages = {level};\nCOMMIT;\n")) else { return };
        assert_eq!(found.contains("WARNING"), !is_silent, "{level}: {found}");
    }
}
