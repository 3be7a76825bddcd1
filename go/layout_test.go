package atsdb

import (
	"database/sql"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5/pgtype"
)

type status string

type everything struct {
	Time      time.Time
	Bool      bool
	Int8      int8
	Int16     int16
	Int32     int32
	Int64     int64
	Int       int
	Uint8     uint8
	Uint16    uint16
	Uint32    uint32
	Uint64    uint64
	Uint      uint
	Float32   float32
	Float64   float64
	Text      string
	Mapped8   status  `atsdb:"map:uint8"`
	Mapped16  string  `atsdb:"map:uint16"`
	Mapped32  *string `atsdb:"map:uint32"`
	Bytes     []byte
	ID        [4]byte
	Seconds   time.Time `atsdb:"unit:s"`
	Millis    time.Time `atsdb:"unit:ms"`
	Micros    time.Time `atsdb:"unit:us"`
	Nanos     *time.Time
	Day       time.Time `atsdb:"date"`
	Took      time.Duration
	Pointer   *int32
	Null      sql.Null[float64]
	NullText  sql.NullString
	NullTime  sql.NullTime   `atsdb:"unit:us"`
	Price     string         `atsdb:"decimal:12.2"`
	Whole     price          `atsdb:"decimal:7"`
	Any       *string        `atsdb:"decimal"`
	Numeric   pgtype.Numeric `atsdb:"decimal:38.37"`
	Opens     time.Time      `atsdb:"timeofday"`
	Closes    pgtype.Time
	Every     time.Duration `atsdb:"interval"`
	Paused    pgtype.Interval
	Key       [16]byte        `atsdb:"uuid"`
	Other     pgtype.UUID     `atsdb:"uuid"`
	Doc       json.RawMessage `atsdb:"json"`
	Counts    []int32
	Triple    [3]float64
	Stops     []time.Time `atsdb:"unit:s"`
	Prices    []*string   `atsdb:"decimal:12.2"`
	Keys      [][16]byte  `atsdb:"uuid"`
	Dust      float32     `atsdb:"name:pm2.5"`
	Named     int8        `db:"other_name"`
	Ignored   chan int    `atsdb:"-"`
	IgnoredDB func()      `db:"-"`
	private   int
}

func TestEveryTypeIsDeclared(t *testing.T) {
	found, err := layoutOf(reflect.TypeFor[everything](), false)
	if err != nil {
		t.Fatal(err)
	}
	want := `CREATE TABLE IF NOT EXISTS "all ""of"" it" ("time" TIMESTAMP(9) NOT NULL, "bool" BOOLEAN NOT NULL, ` +
		`"int8" TINYINT NOT NULL, "int16" SMALLINT NOT NULL, "int32" INT NOT NULL, "int64" BIGINT NOT NULL, ` +
		`"int" BIGINT NOT NULL, "uint8" TINYINT UNSIGNED NOT NULL, "uint16" SMALLINT UNSIGNED NOT NULL, ` +
		`"uint32" INT UNSIGNED NOT NULL, "uint64" BIGINT UNSIGNED NOT NULL, "uint" BIGINT UNSIGNED NOT NULL, ` +
		`"float32" REAL NOT NULL, "float64" DOUBLE NOT NULL, "text" TEXT NOT NULL, "mapped8" TEXT NOT NULL, ` +
		`"mapped16" TEXT NOT NULL, "mapped32" TEXT, "bytes" BLOB, "id" BLOB NOT NULL, "seconds" TIMESTAMP(0) NOT NULL, ` +
		`"millis" TIMESTAMP(3) NOT NULL, "micros" TIMESTAMP(6) NOT NULL, "nanos" TIMESTAMP(9), "day" DATE NOT NULL, ` +
		`"took" BIGINT NOT NULL, "pointer" INT, "null" DOUBLE, "null_text" TEXT, "null_time" TIMESTAMP(6), ` +
		`"price" DECIMAL(12, 2) NOT NULL, "whole" DECIMAL(7, 0) NOT NULL, "any" DECIMAL(38, 9), "numeric" DECIMAL(38, 37), ` +
		`"opens" TIME NOT NULL, "closes" TIME, "every" INTERVAL NOT NULL, "paused" INTERVAL, ` +
		`"key" UUID NOT NULL, "other" UUID, "doc" JSON, "counts" INT[], "triple" DOUBLE[] NOT NULL, "stops" TIMESTAMP(0)[], ` +
		`"prices" DECIMAL(12, 2)[], "keys" UUID[], ` +
		`"pm2.5" REAL NOT NULL, "other_name" TINYINT NOT NULL) ` +
		`WITH (time = 'time', map = 'mapped8:u8, mapped16:u16, mapped32:u32')`
	if got := found.declaration(tableName{name: `all "of" it`}, TableOptions{}); got != want {
		t.Errorf("declared\n%s\nwanted\n%s", got, want)
	}
}

func TestOptionsOfTables(t *testing.T) {
	type reading struct {
		At     int64  `atsdb:"time,unit:ms"`
		Sensor string `atsdb:"map:uint32,key"`
		Floor  int8   `atsdb:"key"`
	}
	found, err := layoutOf(reflect.TypeFor[reading](), false)
	if err != nil {
		t.Fatal(err)
	}
	table := tableName{name: "r"}
	options := TableOptions{Slice: "hour", OnConflict: "replace", Retention: "2 years", Preload: "it's"}
	got := found.declaration(table, options)
	want := `WITH (time = 'at', time_unit = 'ms', slice = 'hour', map = 'sensor:u32', key = 'sensor, floor', ` +
		`on_conflict = 'replace', retention = '2 years', preload = 'it''s')`
	if !strings.HasSuffix(got, want) {
		t.Errorf("declared %s, wanted %s", got, want)
	}
	if got := found.declaration(table, TableOptions{Key: "sensor, at"}); !strings.Contains(got, "key = 'sensor, at'") {
		t.Error(got)
	}
	type sensor struct{ Name, Place string }
	plain, err := layoutOf(reflect.TypeFor[sensor](), true)
	if err != nil {
		t.Fatal(err)
	}
	want = `CREATE TABLE IF NOT EXISTS "lab"."s" ("name" TEXT NOT NULL, "place" TEXT NOT NULL) WITH (time = 'none')`
	if got := plain.declaration(tableName{"lab", "s"}, TableOptions{}); got != want {
		t.Error(got)
	}
}

func TestEmbeddedStructsAndTheTime(t *testing.T) {
	type place struct {
		Room  string
		Floor int8
	}
	type wide struct {
		place
		Extra place `atsdb:"-"`
		Count int32
	}
	names := func(row reflect.Type) (names []string, at string, beside bool) {
		t.Helper()
		found, err := layoutOf(row, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range found.columns {
			names = append(names, column.name)
		}
		return names, found.time.name, found.timeBeside
	}
	got, at, beside := names(reflect.TypeFor[wide]())
	if !reflect.DeepEqual(got, []string{"time", "room", "floor", "count"}) || at != "time" || !beside {
		t.Error(got, at, beside)
	}
	_, at, beside = names(reflect.TypeFor[struct {
		Measured time.Time
		Deleted  *time.Time
		Day      time.Time `atsdb:"date"`
	}]())
	if at != "measured" || beside {
		t.Error("the only time is", at, beside)
	}
	_, at, _ = names(reflect.TypeFor[struct{ Sent, Timestamp time.Time }]())
	if at != "timestamp" {
		t.Error("the time by its name is", at)
	}
	_, at, _ = names(reflect.TypeFor[struct {
		Time time.Time
		Sent time.Time `atsdb:"time"`
	}]())
	if at != "sent" {
		t.Error("the tagged time is", at)
	}
	_, at, beside = names(reflect.TypeFor[struct {
		Place place `atsdb:"inline"`
		Took  time.Duration
	}]())
	if at != "time" || !beside {
		t.Error("a duration was mistaken for a time:", at, beside)
	}
}

func TestWrongStructsAreRefusedByFieldAndType(t *testing.T) {
	type nested struct{ A int }
	cases := []struct {
		row  any
		want string
	}{
		{7, "int is not a struct"},
		{&nested{}, "*atsdb.nested is not a struct"},
		{struct{}{}, "no exported field"},
		{struct{ A complex128 }{}, "field .A (complex128): complex128 cannot be a column"},
		{struct{ A map[string]int }{}, "(map[string]int)"},
		{struct{ A any }{}, "interface {} cannot be a column"},
		{struct{ A **int }{}, "field .A (**int): *int cannot be a column"},
		{struct{ A [][]string }{}, "[][]string has several dimensions"},
		{struct{ A []int8 }{}, "there are no arrays of TINYINT"},
		{struct{ A []any }{}, "interface {} cannot be a column"},
		{struct {
			A []string `atsdb:"map:uint8"`
		}{}, "only text can be mapped"},
		{struct {
			A []string `atsdb:"unit:s"`
		}{}, "only a time.Time has a unit"},
		{struct {
			A []time.Time `atsdb:"time"`
		}{}, "the time cannot be NULL"},
		{struct {
			A int64 `atsdb:"uuid"`
		}{}, "int64 is not a UUID: use a string or [16]byte"},
		{struct {
			A [4]byte `atsdb:"json"`
		}{}, "[4]uint8 is not a JSON document"},
		{struct {
			A string `atsdb:"json,uuid"`
		}{}, "a column has one type"},
		{struct{ A nested }{}, "embed it or tag it"},
		{struct{ *nested }{}, "embed the struct itself"},
		{struct {
			a nested `atsdb:"inline"`
		}{}, "exported"},
		{struct {
			a string `atsdb:"map:uint8"`
		}{}, "field .a (string): a column's field must be exported"},
		{struct {
			A int `atsdb:"map:uint8"`
		}{}, "only text can be mapped"},
		{struct {
			A string `atsdb:"map:uint64"`
		}{}, `field .A (string): tag atsdb:"map:uint64": map:uint64: use map:uint8`},
		{struct {
			A string `atsdb:"mapped"`
		}{}, `"mapped" is not an option`},
		{struct {
			A string `atsdb:"unit:s"`
		}{}, "only a time.Time has a unit"},
		{struct {
			A time.Time `atsdb:"unit:h"`
		}{}, "unit:h: use unit:s"},
		{struct {
			A time.Time `atsdb:"date,unit:s"`
		}{}, "a date has no unit"},
		{struct {
			A int64 `atsdb:"date"`
		}{}, "is a date"},
		{struct {
			A int64 `atsdb:"decimal:12.2"`
		}{}, "field .A (int64): int64 is not a decimal: use a string"},
		{struct{ A price }{}, `if it is a decimal, tag it atsdb:"decimal:12.2"`},
		{struct {
			A nested `atsdb:"decimal"`
		}{}, "atsdb.nested is not a decimal"},
		{struct {
			A string `atsdb:"decimal:12,2"`
		}{}, `"2" is not an option`},
		{struct {
			A string `atsdb:"decimal:39"`
		}{}, "decimal:39: use decimal:12.2 for 12 digits, 2 of them after the point"},
		{struct {
			A string `atsdb:"decimal:4.5"`
		}{}, "decimal:4.5: use"},
		{struct {
			A string `atsdb:"decimal:4.-1"`
		}{}, "decimal:4.-1: use"},
		{struct {
			A string `atsdb:"decimal,map:uint8"`
		}{}, "a column has one type"},
		{struct {
			A time.Duration `atsdb:"timeofday"`
		}{}, "field .A (time.Duration): time.Duration is not a time of day: use a time.Time or pgtype.Time"},
		{struct {
			A time.Time `atsdb:"time,timeofday"`
		}{}, "a column has one type"},
		{struct {
			A int64 `atsdb:"interval"`
		}{}, "int64 is not an interval: use a time.Duration or pgtype.Interval"},
		{struct {
			A pgtype.Time `atsdb:"time"`
		}{}, "the time cannot be NULL"},
		{struct {
			A string `db:"a:b"`
		}{}, "colon"},
		{struct {
			A string
			B string `atsdb:"name:a"`
		}{}, "are both column a"},
		{struct{ A, B time.Time }{}, `tag one of them atsdb:"time"`},
		{struct{ TS, Time time.Time }{}, `tag one of them atsdb:"time"`},
		{struct {
			A time.Time `atsdb:"time"`
			B time.Time `atsdb:"time"`
		}{}, "both tagged as the time"},
		{struct {
			A *time.Time `atsdb:"time"`
		}{}, "field .A (*time.Time): the time cannot be NULL"},
		{struct {
			A string `atsdb:"time"`
		}{}, "the time is a time.Time, or an int64"},
	}
	for _, c := range cases {
		_, err := layoutOf(reflect.TypeOf(c.row), false)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, wanted: %s", c.row, err, c.want)
		}
	}
	_, err := layoutOf(reflect.TypeFor[struct {
		A time.Time `atsdb:"time"`
	}](), true)
	if err == nil || !strings.Contains(err.Error(), "a plain table has no time") {
		t.Error(err)
	}
}

func TestNamesInSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"Sensor": "sensor", "SensorID": "sensor_id", "HTTPStatus": "http_status", "Count1": "count1", "PM10": "pm10",
		"Snake_Case": "snake_case", "A": "a", "ÄrgerZahl": "ärger_zahl", "Co2Level": "co2_level",
	} {
		if got := snakeCase(name); got != want {
			t.Errorf("%s became %s, not %s", name, got, want)
		}
	}
}

func TestWhichColumnsHoldWhichValues(t *testing.T) {
	types := arrow.PrimitiveTypes
	text, mapped := arrow.BinaryTypes.String, arrow.DataType(mappedType)
	decimal := func(precision, scale int32) arrow.DataType {
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}
	}
	micro, nano := &arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Nanosecond}
	cases := []struct {
		column, value arrow.DataType
		want          bool
	}{
		{types.Int64, types.Int32, true}, {types.Int32, types.Int64, false}, {types.Int64, types.Uint32, true},
		{types.Int64, types.Uint64, false}, {types.Uint64, types.Int8, false}, {types.Uint64, types.Uint64, true},
		{types.Float64, types.Float32, true}, {types.Float32, types.Float64, false}, {types.Float64, types.Int32, true},
		{types.Float64, types.Int64, false}, {types.Float32, types.Int32, false}, {types.Float32, types.Uint16, true},
		{types.Int64, types.Float32, false}, {text, mapped, true}, {mapped, text, true}, {text, types.Int8, false},
		{types.Int8, text, false}, {arrow.BinaryTypes.Binary, text, false}, {text, arrow.BinaryTypes.Binary, false},
		{arrow.FixedWidthTypes.Boolean, types.Int8, false}, {types.Int8, arrow.FixedWidthTypes.Boolean, false},
		{types.Int64, nano, false}, {micro, types.Int64, false},
		{decimal(12, 2), decimal(12, 2), true}, {decimal(14, 4), decimal(12, 2), true}, {decimal(13, 4), decimal(12, 2), false},
		{decimal(38, 1), decimal(12, 2), false}, {decimal(38, 0), types.Int64, false}, {types.Float64, decimal(2, 0), false},
		{text, decimal(2, 0), false}, {decimal(2, 0), text, false},
	}
	for _, c := range cases {
		if got := holds(c.column, c.value); got != c.want {
			t.Errorf("%s in a column of %s: %v", c.value, c.column, got)
		}
	}
}

func TestTablesThatExistAreCompared(t *testing.T) {
	type reading struct {
		Time   time.Time
		Sensor string `atsdb:"map:uint32"`
		Count  int64
		Sent   time.Time `atsdb:"unit:us"`
	}
	stamp := func(unit arrow.TimeUnit) arrow.DataType { return &arrow.TimestampType{Unit: unit, TimeZone: "UTC"} }
	fields := func() []arrow.Field {
		return []arrow.Field{
			{Name: "TIME", Type: stamp(arrow.Second)}, {Name: "sensor", Type: arrow.BinaryTypes.String, Nullable: true},
			{Name: "count", Type: arrow.PrimitiveTypes.Int64}, {Name: "sent", Type: stamp(arrow.Microsecond), Nullable: true},
			{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
		}
	}
	fit := func(fields []arrow.Field) (*layout, error) {
		found, err := layoutOf(reflect.TypeFor[reading](), false)
		if err != nil {
			t.Fatal(err)
		}
		_, err = found.fitTo("r", arrow.NewSchema(fields, nil))
		return found, err
	}
	found, err := fit(fields())
	if err != nil {
		t.Fatal(err)
	}
	if unit := found.time.leaf.arrow.(*arrow.TimestampType).Unit; unit != arrow.Second {
		t.Error("the time is sent in", unit)
	}
	if !found.columns[0].refusesNull || found.columns[1].refusesNull {
		t.Error("NOT NULL is not taken over")
	}
	for _, c := range []struct {
		change func([]arrow.Field) []arrow.Field
		want   string
	}{
		{func(f []arrow.Field) []arrow.Field { return append(f[:2:2], f[3:]...) },
			`field reading.Count (int64): table r has no column count: add it with ALTER TABLE "r" ADD COLUMN "count" BIGINT`},
		{func(f []arrow.Field) []arrow.Field { f[2].Type = arrow.PrimitiveTypes.Int32; return f },
			"field reading.Count (int64): column count of table r is INT, which does not hold every BIGINT"},
		{func(f []arrow.Field) []arrow.Field { f[1].Type = arrow.FixedWidthTypes.Date32; return f },
			"field reading.Sensor (string): column sensor of table r is DATE, which does not hold every TEXT"},
		{func(f []arrow.Field) []arrow.Field { f[0].Type = arrow.PrimitiveTypes.Int64; return f },
			"field reading.Time (time.Time): column time of table r is BIGINT, which does not hold every TIMESTAMP(9)"},
		{func(f []arrow.Field) []arrow.Field { f[3].Type = stamp(arrow.Second); return f },
			"counts s, which is coarser than the tag's unit:us"},
	} {
		if _, err := fit(c.change(fields())); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, wanted: %s", err, c.want)
		}
	}
}
