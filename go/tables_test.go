package atsdb

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// allTypes has a field of each type. Its times are whole microseconds, the precision of PostgreSQL's protocol.
type allTypes struct {
	Time     time.Time
	Bool     bool
	Int8     int8
	Int16    int16
	Int32    int32
	Int64    int64
	Int      int
	Uint8    uint8
	Uint16   uint16
	Uint32   uint32
	Uint64   uint64
	Uint     uint
	Float32  float32
	Float64  float64
	Text     string
	Status   status `atsdb:"map:uint8"`
	Sensor   string `atsdb:"map:uint16"`
	Place    string `atsdb:"map:uint32"`
	Bytes    []byte
	Seconds  time.Time `atsdb:"unit:s"`
	Millis   time.Time `atsdb:"unit:ms"`
	Micros   time.Time `atsdb:"unit:us"`
	Day      time.Time `atsdb:"date"`
	Took     time.Duration
	Int32P   *int32
	TextP    *string `atsdb:"map:uint8"`
	TimeP    *time.Time
	BoolNull sql.Null[bool]
	Real     sql.NullFloat64
	Whole    sql.NullInt64
	Words    sql.NullString
	When     sql.NullTime `atsdb:"unit:us"`
	Dust     float64      `db:"pm2.5"`
}

func utc(seconds, nanoseconds int64) time.Time { return time.Unix(seconds, nanoseconds).UTC() }

func allTypesRows() []allTypes {
	number, text, when := int32(-7), "", utc(5, 1000)
	return []allTypes{
		{
			Time: utc(1_700_000_000, 123_456_000), Bool: true, Int8: math.MinInt8, Int16: math.MinInt16, Int32: math.MinInt32,
			Int64: math.MinInt64, Int: math.MaxInt, Uint8: math.MaxUint8, Uint16: math.MaxUint16, Uint32: math.MaxUint32,
			Uint64: math.MaxUint64, Uint: math.MaxUint, Float32: math.MaxFloat32, Float64: math.SmallestNonzeroFloat64,
			Text: "Größe 測定 'x'", Status: "ok", Sensor: "s1", Place: "", Bytes: []byte{0, 255, 1},
			Seconds: utc(-1, 0), Millis: utc(1, 5_000_000), Micros: utc(1, 5_000), Day: time.Date(1815, 12, 10, 0, 0, 0, 0, time.UTC),
			Took: -3 * time.Hour, Int32P: &number, TextP: &text, TimeP: &when, BoolNull: sql.Null[bool]{V: false, Valid: true},
			Real: sql.NullFloat64{Float64: math.Inf(-1), Valid: true}, Whole: sql.NullInt64{Int64: 1 << 60, Valid: true},
			Words: sql.NullString{String: "w", Valid: true}, When: sql.NullTime{Time: when, Valid: true}, Dust: 2.5,
		},
		{
			Time: utc(1_700_000_001, 0), Float32: float32(math.Copysign(0, -1)), Float64: 0.1, Bytes: []byte{}, Status: "late",
			Seconds: utc(0, 0), Millis: utc(0, 0), Micros: utc(0, 0), Day: utc(0, 0),
		},
		{Time: utc(1_700_000_002, 0), Seconds: utc(0, 0), Millis: utc(0, 0), Micros: utc(0, 0), Day: utc(0, 0)},
	}
}

func TestPgxReadsWhatWasAppended(t *testing.T) {
	server := serve(t)
	ctx := soon(t)
	a, err := NewAppender[allTypes](ctx, server.client(ClientOptions{}), "readings", Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := allTypesRows()
	for _, row := range rows {
		if err := a.Append(ctx, row); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	found, err := server.connect().Query(ctx, "SELECT * FROM readings ORDER BY time")
	if err != nil {
		t.Fatal(err)
	}
	read, err := pgx.CollectRows(found, pgx.RowToStructByName[allTypes])
	if err != nil {
		t.Fatal(err)
	}
	if len(read) != len(rows) {
		t.Fatal(len(read), "rows")
	}
	for i, want := range rows {
		compareFields(t, i, want, inUTC(read[i]))
	}
	if bits := math.Float32bits(read[1].Float32); bits != 1<<31 {
		t.Errorf("minus zero became %x", bits)
	}
}

// inUTC converts the times of a row to UTC, because pgx reads them in the local time zone.
func inUTC(row allTypes) allTypes {
	for _, at := range []*time.Time{&row.Time, &row.Seconds, &row.Millis, &row.Micros, &row.Day, row.TimeP, &row.When.Time} {
		if at != nil && !at.IsZero() {
			*at = at.UTC()
		}
	}
	return row
}

func compareFields(t *testing.T, i int, want, got any) {
	t.Helper()
	for field := range reflect.TypeOf(want).NumField() {
		wanted, found := reflect.ValueOf(want).Field(field).Interface(), reflect.ValueOf(got).Field(field).Interface()
		if !reflect.DeepEqual(wanted, found) {
			t.Errorf("row %d, %s: %v became %v", i, reflect.TypeOf(want).Field(field).Name, wanted, found)
		}
	}
}

func TestTheStoreHasEveryBit(t *testing.T) {
	type row struct {
		At      time.Time `atsdb:"time"`
		Sent    *time.Time
		ID      [3]byte
		Float32 float32
		Float64 float64
		Text    string
	}
	server := serve(t)
	ctx := soon(t)
	a, err := NewAppender[row](ctx, server.client(ClientOptions{}), "rows", Options{Table: TableOptions{Slice: "year"}})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2262, 4, 11, 23, 47, 15, 999_999_999, time.UTC)
	if err := a.Append(ctx, row{
		at, &at, [3]byte{1, 2, 3}, math.Float32frombits(0x7f800001), math.Float64frombits(0xfff0000000000abc), "a\x00b",
	}); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{"at", "sent"} {
		if got := ask[int64](server, "SELECT arrow_cast("+column+", 'Int64') FROM rows"); got != at.UnixNano() {
			t.Error(column, got)
		}
	}
	if got := ask[[]byte](server, "SELECT id FROM rows"); !bytes.Equal(got, []byte{1, 2, 3}) {
		t.Error(got)
	}
	if got := math.Float32bits(ask[float32](server, "SELECT float32 FROM rows")); got != 0x7f800001 {
		t.Errorf("%x", got)
	}
	if got := math.Float64bits(ask[float64](server, "SELECT float64 FROM rows")); got != 0xfff0000000000abc {
		t.Errorf("%x", got)
	}
	if got := ask[string](server, "SELECT text FROM rows"); got != "a\x00b" {
		t.Errorf("%q", got)
	}
	declared := ask[string](server, "SELECT slice FROM atsdb.tables WHERE name = 'rows'")
	if declared != "year" {
		t.Error(declared)
	}
}

func TestTablesThatExist(t *testing.T) {
	server := serve(t)
	ctx := soon(t)
	server.exec(`CREATE TABLE readings (time TIMESTAMP, SENSOR TEXT, n BIGINT UNSIGNED NOT NULL, note TEXT)`)
	_, err := NewAppender[numbered](ctx, server.client(ClientOptions{}), "readings", Options{})
	want := "field numbered.N (int64): column n of table readings is BIGINT UNSIGNED, which does not hold every BIGINT"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	server.exec(`CREATE TABLE strict (time TIMESTAMP, sensor TEXT, n BIGINT, owner TEXT NOT NULL)`)
	_, err = NewAppender[numbered](ctx, server.client(ClientOptions{}), "strict", Options{})
	if err == nil || !strings.Contains(err.Error(), "column owner of table strict is NOT NULL and has no default, and the struct") {
		t.Error(err)
	}
	server.exec(`CREATE VIEW seen AS SELECT * FROM readings`)
	if _, err = NewAppender[numbered](ctx, server.client(ClientOptions{}), "seen", Options{}); err == nil {
		t.Error("a view was appended to")
	}

	// Columns in another order, with wider types and a coarser time.
	server.exec(`CREATE TABLE wide (n DOUBLE NOT NULL, sensor TEXT, time TIMESTAMP(0), note TEXT)`)
	type narrow struct {
		Time   time.Time
		Sensor string
		N      *int16
	}
	a, err := NewAppender[narrow](ctx, server.client(ClientOptions{}), "wide", Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := int16(5)
	if err := a.Append(ctx, narrow{time.Unix(7, 999_999_999), "s", &n}); err != nil {
		t.Error(err)
	}
	err = a.Append(ctx, narrow{time.Unix(7, 0), "s", nil})
	if err == nil || !strings.Contains(err.Error(), "field narrow.N (*int16): column n is NOT NULL") {
		t.Error(err)
	}
	if err := a.Close(ctx); err != nil {
		t.Error(err)
	}
	if got := ask[time.Time](server, "SELECT time FROM wide WHERE n = 5 AND note IS NULL"); !got.Equal(time.Unix(7, 0)) {
		t.Error(got)
	}
}

func TestKeysAndPlainTables(t *testing.T) {
	server := serve(t)
	ctx := soon(t)
	type sensor struct {
		Name  string `atsdb:"key"`
		Place *string
	}
	a, err := NewAppender[sensor](ctx, server.client(ClientOptions{}), "sensors",
		Options{Table: TableOptions{Plain: true, OnConflict: "replace"}})
	if err != nil {
		t.Fatal(err)
	}
	place := "roof"
	for _, row := range []sensor{{"s1", nil}, {"s2", nil}, {"s1", &place}} {
		if err := errors.Join(a.Append(ctx, row), a.Flush(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(ctx); err != nil {
		t.Error(err)
	}
	if got := ask[string](server, "SELECT string_agg(name || ' ' || coalesce(place, '-'), ', ' ORDER BY name) FROM sensors"); got != "s1 roof, s2 -" {
		t.Error(got)
	}
}

func TestAFullDictionaryIsAnErrorOfItsBatch(t *testing.T) {
	type row struct {
		Time   time.Time
		Status string `atsdb:"map:uint8"`
	}
	server := serve(t)
	ctx := soon(t)
	a, err := NewAppender[row](ctx, server.client(ClientOptions{OnRetry: func(err error, _ time.Duration) { t.Error(err) }}),
		"rows", Options{BatchRows: 200, FlushTime: -1})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 400 {
		if err := a.Append(ctx, row{time.Unix(int64(n), 0), fmt.Sprint("status ", n)}); err != nil {
			t.Fatal(err)
		}
	}
	err = a.Close(ctx)
	var failed *BatchError
	var refused *Error
	if !errors.As(err, &failed) || !errors.As(err, &refused) || refused.Kind != "limit" || failed.Rows != 200 ||
		!strings.Contains(err.Error(), "status") {
		t.Error(err)
	}
	if got := ask[int64](server, "SELECT count(*) FROM rows"); got != 200 {
		t.Error(got, "rows are stored")
	}
}

func TestATimeThatIsACount(t *testing.T) {
	type reading struct {
		At     int64  `atsdb:"time,unit:ms"`
		Sensor string `atsdb:"map:uint32,key"`
	}
	server := serve(t)
	ctx := soon(t)
	options := Options{Table: TableOptions{Slice: "hour", Retention: "100 years", Preload: "8 hours"}}
	for range 2 {
		a, err := NewAppender[reading](ctx, server.client(ClientOptions{}), "readings", options)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(a.Append(ctx, reading{1_700_000_000_123, "s"}), a.Close(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask[int64](server, "SELECT CAST(sum(at) AS BIGINT) FROM readings WHERE sensor = 's'"); got != 2*1_700_000_000_123 {
		t.Error(got)
	}
	var table, declared string
	if err := server.connect().QueryRow(ctx, "SHOW CREATE TABLE readings").Scan(&table, &declared); err != nil {
		t.Fatal(err)
	}
	for _, option := range []string{
		"time = 'at'", "time_unit = 'ms'", "slice = 'hour'", "map = 'sensor:u32'", "key = 'sensor'", "100 years", "8 hours",
	} {
		if !strings.Contains(declared, option) {
			t.Errorf("%s is not in %s", option, declared)
		}
	}
}

func TestRowsWithATimeBeside(t *testing.T) {
	type reading struct {
		Sensor string `atsdb:"map:uint32"`
		Count1 int32
	}
	server := serve(t)
	ctx := soon(t)
	a, err := NewAppender[reading](ctx, server.client(ClientOptions{}), `it's "a" table`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	if err := errors.Join(a.AppendAt(ctx, at, reading{"s", 7}), a.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	got := ask[time.Time](server, `SELECT time FROM "it's ""a"" table" WHERE sensor = $1 AND count1 = $2`, "s", 7)
	if !got.Equal(at) {
		t.Error(got)
	}
}

func TestStringsFitColumnsOfUUIDsAndJSON(t *testing.T) {
	type row struct {
		Time time.Time
		ID   string
		Doc  *string
	}
	server := serve(t)
	ctx := soon(t)
	server.exec("CREATE TABLE rows (time TIMESTAMP(9), id UUID, doc JSON) WITH (time = 'time')")
	a, err := NewAppender[row](ctx, server.client(ClientOptions{}), "rows", Options{})
	if err != nil {
		t.Fatal(err)
	}
	doc := `{"a": [1.50]}`
	if err := a.Append(ctx, row{utc(1, 0), "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", &doc}); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got := ask[string](server, "SELECT id::text || ' ' || (doc->'a'->>0) FROM rows"); got != "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 1.50" {
		t.Error(got)
	}
	b, err := NewAppender[row](ctx, server.client(ClientOptions{}), "rows", Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(b.Append(ctx, row{utc(2, 0), "no UUID", nil}), b.Close(ctx))
	if err == nil || !strings.Contains(err.Error(), "no UUID") {
		t.Error(err)
	}
}

func TestPgxReadsDecimalsTimesOfDayAndIntervals(t *testing.T) {
	server := serve(t)
	ctx := soon(t)
	a, err := NewAppender[typed](ctx, server.client(ClientOptions{}), "rows", Options{Table: TableOptions{Key: "price"}})
	if err != nil {
		t.Fatal(err)
	}
	most := strings.Repeat("9", 29) + ".999999999"
	rows := []typed{
		{
			Time: utc(1, 0), Price: "-9999999999.99", Struct: price{cents: 1999}, Bytes: amount{'7'},
			Numeric: pgtype.Numeric{Int: big.NewInt(-15), Exp: -1, Valid: true}, Null: sql.NullString{String: most, Valid: true},
			Pointer: &price{cents: 5}, Opens: time.Date(2000, 1, 1, 23, 59, 59, 999_999_000, time.UTC),
			Closes: pgtype.Time{Microseconds: 1, Valid: true}, Often: &pgtype.Time{Microseconds: 2, Valid: true},
			Every: -90 * time.Second, Paused: pgtype.Interval{Months: -13, Days: 2, Microseconds: -3, Valid: true},
		},
		{Time: utc(2, 0), Price: "1.5", Bytes: amount{'0'}, Opens: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	for _, row := range rows {
		if err := a.Append(ctx, row); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	// The types that pgx itself reads, in the fields from which they came.
	type readable struct {
		Price   string
		Numeric pgtype.Numeric
		Null    sql.NullString
		Opens   time.Time
		Closes  pgtype.Time
		Often   *pgtype.Time
		Every   time.Duration
		Paused  pgtype.Interval
	}
	columns := "price, numeric, null, opens, closes, often, every, paused"
	found, err := server.connect().Query(ctx, "SELECT "+strings.Replace(columns, "null", `"null"`, 1)+" FROM rows ORDER BY time")
	if err != nil {
		t.Fatal(err)
	}
	read, err := pgx.CollectRows(found, pgx.RowToStructByName[readable])
	if err != nil {
		t.Fatal(err)
	}
	if len(read) != len(rows) {
		t.Fatal(len(read), "rows")
	}
	// A number may come back with zeros after the point.
	if got, err := read[0].Numeric.Value(); err != nil || got != "-1.500000000" {
		t.Error(got, err)
	}
	for i, price := range []string{"-9999999999.99", "1.50"} {
		if read[i].Price != price {
			t.Error(read[i].Price, price)
		}
		want := readable{
			read[i].Price, read[i].Numeric, rows[i].Null, rows[i].Opens, rows[i].Closes, rows[i].Often, rows[i].Every, rows[i].Paused,
		}
		compareFields(t, i, want, read[i])
	}
	if read[1].Numeric.Valid {
		t.Error(read[1].Numeric)
	}
	// What the store has, in its own words.
	got := ask[string](server, `SELECT "struct"::text || ' ' || bytes::text || ' ' || pointer::text || ' ' || paused::text FROM rows WHERE price < 0`)
	if got != "19.99 7 0.050000000 -1 years -1 mons +2 days -00:00:00.000003" {
		t.Error(got)
	}
	// Nanoseconds of a duration are stored, too.
	b, err := NewAppender[typed](ctx, server.client(ClientOptions{}), "rows", Options{})
	if err != nil {
		t.Fatal(err)
	}
	last := rows[1]
	last.Time, last.Every = utc(3, 0), time.Nanosecond
	if err := errors.Join(b.Append(ctx, last), b.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	if got := ask[int64](server, "SELECT count(*) FROM rows WHERE every > INTERVAL '0 seconds' AND every < INTERVAL '1 microsecond'"); got != 1 {
		t.Error(got, "intervals of a nanosecond")
	}
}

func TestFieldsFitColumnsOfDecimalsTimesOfDayAndIntervals(t *testing.T) {
	type row struct {
		Time  time.Time
		Any   string         `atsdb:"decimal"`
		Price string         `atsdb:"decimal:12.2"`
		Wide  pgtype.Numeric `atsdb:"decimal:5.1"`
	}
	server := serve(t)
	ctx := soon(t)
	server.exec("CREATE TABLE rows (time TIMESTAMP(9), any DECIMAL(6, 4), price DECIMAL(12, 2), wide DECIMAL(30, 20), of TIME, every INTERVAL)")
	a, err := NewAppender[row](ctx, server.client(ClientOptions{}), "rows", Options{})
	if err != nil {
		t.Fatal(err)
	}
	wide := pgtype.Numeric{Int: big.NewInt(12345), Exp: -1, Valid: true}
	if err := a.Append(ctx, row{utc(1, 0), "12.3456", "1", wide}); err != nil {
		t.Fatal(err)
	}
	// Without digits in the tag those of the column count.
	if err := a.Append(ctx, row{utc(1, 0), "123.4", "1", wide}); err == nil || !strings.Contains(err.Error(), "DECIMAL(6, 4)") {
		t.Error(err)
	}
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got := ask[string](server, `SELECT any::text || ' ' || price::text || ' ' || wide::text FROM rows`); got != "12.3456 1.00 1234.50000000000000000000" {
		t.Error(got)
	}
	refused := func(want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, wanted: %s", err, want)
		}
	}
	_, err = NewAppender[struct {
		Time  time.Time
		Price string `atsdb:"decimal:13.2"`
	}](ctx, server.client(ClientOptions{}), "rows", Options{})
	refused("is DECIMAL(12, 2), which does not hold every DECIMAL(13, 2)", err)
	_, err = NewAppender[struct {
		Time  time.Time
		Price *string
	}](ctx, server.client(ClientOptions{}), "rows", Options{})
	refused(`is DECIMAL(12, 2), which does not hold every TEXT: tag the field atsdb:"decimal"`, err)
	_, err = NewAppender[struct{ Time, Of time.Time }](ctx, server.client(ClientOptions{}), "rows", Options{})
	refused(`is TIME, which does not hold every TIMESTAMP(9): tag the field atsdb:"timeofday"`, err)
	_, err = NewAppender[struct {
		Time  time.Time
		Every time.Duration
	}](ctx, server.client(ClientOptions{}), "rows", Options{})
	refused(`is INTERVAL, which does not hold every BIGINT: tag the field atsdb:"interval"`, err)
}
