-- Ten million rows, sealed, to see what they take in a store of any kind:
--
--     atsdb sql URL < docs/lab/sealed_sizes.sql && atsdb recompress URL
--
-- then the file, or on PostgreSQL
--     SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname LIKE 'atsdb%' AND relkind = 'r';
-- and on MariaDB and MySQL the files atsdb_*.ibd of the database.
CREATE TABLE big (time TIMESTAMP, sensor TEXT, status TEXT, a INT, b INT, c INT, d INT)
  WITH (time = 'time', slice = 'day', map = 'sensor:u32,status:u8');
INSERT INTO big
  SELECT to_timestamp_seconds(1700000000 + value / 5000 * 60), concat('sensor', value % 5000),
    CASE WHEN value % 7 = 0 THEN 'bad' ELSE 'ok' END,
    CAST(random() * 30000 AS INT), CAST(random() * 300 AS INT), value / 5000, value % 7
  FROM generate_series(0, 9999999);
