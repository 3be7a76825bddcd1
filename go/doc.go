// Package atsdb appends rows to an atsdb server from Go, without cgo.
//
// A struct declares a table. An [Appender] collects its values into Arrow record batches and sends them to the server
// in the background, each under a unique id, until the server has acknowledged it. A batch counts once, however often
// it had to be sent.
//
//	type Reading struct {
//		Time   time.Time
//		Sensor string `atsdb:"map:uint32"`
//		Status string `atsdb:"map:uint8"`
//	}
//
//	client, err := atsdb.NewClient("http://127.0.0.1:8086", atsdb.ClientOptions{})
//	readings, err := atsdb.NewAppender[Reading](ctx, client, "readings", atsdb.Options{})
//	err = readings.Append(ctx, Reading{time.Now(), "kitchen", "ok"})
//	err = readings.Flush(ctx) // returns when all rows are durable
//	err = readings.Close(ctx)
//
// Queries go through pgx, as the server speaks PostgreSQL's protocol. pgx.RowToStructByName reads rows into the same
// structs.
//
// # Structs
//
// Each exported field is a column, named by the field in snake case: SensorID is sensor_id. The fields of embedded
// structs are columns of the table, too. A field's tag atsdb:"..." has options, separated by commas:
//
//	map:uint8, map:uint16, map:uint32   a mapped column, for text with few distinct values
//	name:pm2.5                          the column's name; a tag db:"..." names it for pgx, too
//	time                                this column is the table's time
//	unit:s, unit:ms, unit:us, unit:ns   the unit of a time.Time; nanoseconds by default
//	date                                a time.Time without its time of day
//	timeofday                           a time.Time without its date
//	decimal:12.2                        a decimal, here of 12 digits, 2 of them after the point
//	interval                            a time.Duration as an interval
//	uuid                                a string or [16]byte as a UUID
//	json                                text or bytes as a JSON document
//	key                                 the column belongs to the series key
//	inline                              the fields of this struct are columns
//	-                                   the field is not a column
//
// The time is the field with the tag time, otherwise the time.Time named Time, Timestamp or TS, otherwise the only
// time.Time. If there is none, the table gets a column named time, and [Appender.AppendAt] takes it with each row.
//
// Slices are arrays, except those of bytes; a tag is that of their elements.
//
// A decimal is a string, or a type whose driver.Valuer gives text. pgtype.Time and pgtype.Interval need no tag.
//
// Pointers, sql.Null, sql.NullString and structs like these (a value and Valid) are columns that take NULL. So are
// pgtype.Numeric, pgtype.Time and pgtype.Interval, and slices, where nil is NULL. All other columns are NOT NULL.
package atsdb
