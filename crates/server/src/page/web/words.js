// The words that the editor colours and completes.

const list = (text) => text.trim().split(/\s+/);

/** Keywords. */
export const KEYWORDS = new Set(list(`
ADD ALL ALTER ANALYZE AND ANY AS ASC ASOF BEGIN BETWEEN BIGINT BLOB BOOLEAN BY CASE CAST CHECKPOINT COLUMN COMMIT CONFLICT
CONSTRAINT COPY CREATE CROSS CUBE CURRENT DATE DEFAULT DELETE DESC DESCRIBE DISTINCT DO DOUBLE DROP ELSE END ESCAPE EXCEPT
EXCLUDE EXISTS EXPLAIN EXTRACT FALSE FILTER FIRST FOLLOWING FROM FULL GROUP GROUPING HAVING IF IGNORE ILIKE IN INDEX INNER
INSERT INT INTEGER INTERSECT INTERVAL INTO IS JOIN KEY LAST LATERAL LEFT LIKE LIMIT MATERIALIZED NATURAL NOT NOTHING NULL
NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PRECEDING PRIMARY RANGE REAL RECURSIVE RENAME REPLACE RETURNING RIGHT ROLLBACK
ROLLUP ROW ROWS SAVEPOINT SELECT SET SETS SHOW SIMILAR SMALLINT SOME SUMMARIZE TABLE TABLES TEXT THEN TIMESTAMP TINYINT TO
TRANSACTION TRUE TRUNCATE UNBOUNDED UNION UNIQUE UNSIGNED UPDATE USING VALUES VIEW WHEN WHERE WINDOW WITH WITHIN
`));

/** Words of more than one word, as they are completed. */
export const PHRASES = [
  "GROUP BY", "ORDER BY", "PARTITION BY", "LEFT JOIN", "INNER JOIN", "CROSS JOIN", "FULL JOIN", "ASOF JOIN", "UNION ALL",
  "INSERT INTO", "DELETE FROM", "CREATE TABLE", "CREATE VIEW", "CREATE INDEX", "ALTER TABLE", "DROP TABLE", "ON CONFLICT",
  "IS NULL", "IS NOT NULL", "NULLS LAST", "EXPLAIN ANALYZE", "SHOW TABLES", "SHOW CREATE TABLE",
];

/** Functions with what they take. */
export const FUNCTIONS = new Map(`
time_bucket(width, time)
time_bucket_gapfill(width, time, start, finish)
locf(value)
interpolate(value)
date_bin(width, time)
date_trunc(unit, time)
date_part(unit, time)
first(value, time)
last(value, time)
delta(value, time)
increase(value, time)
rate(value, time)
time_weighted_average(value, time)
percentile(value, p)
approx_percentile(value, p)
median(value)
histogram(value, min, max, n)
lttb(time, value, n)
generate_series(from, to, step)
range(from, to, step)
count(value)
sum(value)
avg(value)
min(value)
max(value)
stddev(value)
stddev_pop(value)
var_pop(value)
var_samp(value)
corr(y, x)
covar_samp(y, x)
regr_slope(y, x)
regr_intercept(y, x)
array_agg(value)
string_agg(text, separator)
bool_and(value)
bool_or(value)
approx_distinct(value)
approx_median(value)
first_value(value)
last_value(value)
nth_value(value, n)
row_number()
rank()
dense_rank()
percent_rank()
cume_dist()
ntile(n)
lag(value, offset)
lead(value, offset)
abs(x)
ceil(x)
floor(x)
round(x, digits)
trunc(x)
sqrt(x)
exp(x)
ln(x)
log(base, x)
log10(x)
log2(x)
power(x, y)
pi()
random()
sign(x)
sin(x)
cos(x)
tan(x)
asin(x)
acos(x)
atan(x)
atan2(y, x)
radians(x)
degrees(x)
greatest(a, b)
least(a, b)
coalesce(a, b)
nullif(a, b)
now()
current_date()
to_char(time, format)
to_timestamp(value)
from_unixtime(seconds)
make_date(year, month, day)
lower(text)
upper(text)
length(text)
trim(text)
ltrim(text)
rtrim(text)
lpad(text, n)
rpad(text, n)
left(text, n)
right(text, n)
substr(text, from, n)
replace(text, from, to)
split_part(text, separator, n)
concat(a, b)
concat_ws(separator, a, b)
starts_with(text, prefix)
ends_with(text, suffix)
strpos(text, part)
contains(text, part)
repeat(text, n)
reverse(text)
initcap(text)
regexp_like(text, pattern)
regexp_replace(text, pattern, to)
regexp_count(text, pattern)
md5(text)
sha256(data)
encode(data, format)
decode(text, format)
array_length(array)
array_contains(array, value)
unnest(array)
arrow_typeof(value)
version()
`.trim().split("\n").map((line) => [line.slice(0, line.indexOf("(")), line.slice(line.indexOf("("))]));

/** The catalogue's tables, which every store has. */
export const CATALOGUE = new Map(Object.entries({
  "atsdb.tables": "name kind time_column time_unit slice retention rows slices chunks fresh_chunks bytes bytes_per_row time_min time_max series_key on_conflict sql",
  "atsdb.columns": "table_name column_name position type nullable default_value map is_time encoding bytes",
  "atsdb.rollups": "name table_name every retention stale stale_from closed_before query sql",
  "atsdb.slices": "table_name start end rows chunks fresh_chunks bytes",
  "atsdb.chunks": "table_name id uid slice_start sealed rows time_min time_max bytes",
  "atsdb.pages": "table_name chunk column_name index_name encoding bytes null_count min max",
  "atsdb.mappings": "table_name column_name id value",
  "atsdb.indexes": "table_name index_name columns chunks bytes is_unique",
  "atsdb.caches": "name folder hits misses hit_rate bytes bytes_max",
  "information_schema.tables": "table_catalog table_schema table_name table_type",
  "information_schema.columns": "table_catalog table_schema table_name column_name ordinal_position column_default is_nullable data_type",
}).map(([table, columns]) => [table, list(columns)]));

/** Words that must be quoted as names. */
export const RESERVED = new Set(list("ALL AND AS CASE CAST CREATE CROSS DISTINCT ELSE END EXCEPT EXISTS FALSE FROM FULL GROUP HAVING IN INNER INTERSECT INTO IS JOIN LEFT LIKE LIMIT NOT NULL OFFSET ON OR ORDER OUTER RIGHT SELECT TABLE THEN TO TRUE UNION USING WHEN WHERE WITH"));
