package atsdb

import (
	"database/sql"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// listed has arrays, a UUID and a document.
type listed struct {
	Time    time.Time
	Counts  []int32
	Levels  []sql.NullFloat64
	Triple  [3]float32
	Names   []*string
	Stops   []time.Time      `atsdb:"unit:ms"`
	Prices  []pgtype.Numeric `atsdb:"decimal:6.2"`
	Key     [16]byte         `atsdb:"uuid"`
	Parent  *string          `atsdb:"uuid"`
	Doc     json.RawMessage  `atsdb:"json"`
	Related [][16]byte       `atsdb:"uuid"`
}

func numericOf(t *testing.T, text string) pgtype.Numeric {
	t.Helper()
	var found pgtype.Numeric
	if err := found.Scan(text); err != nil {
		t.Fatal(err)
	}
	return found
}

func listedRows(t *testing.T) []listed {
	name, parent := "a,b", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
	return []listed{
		{
			Time: utc(1, 0), Counts: []int32{1, -2, 3}, Levels: []sql.NullFloat64{{Float64: 0.5, Valid: true}, {}},
			Triple: [3]float32{1, 2, 3}, Names: []*string{&name, nil}, Stops: []time.Time{utc(5, 7_000_000)},
			Prices: []pgtype.Numeric{numericOf(t, "12.34"), {}}, Key: [16]byte{0xa0, 15: 0x11}, Parent: &parent,
			Doc: json.RawMessage(`{"a": 1}`), Related: [][16]byte{{1}, {}},
		},
		{Time: utc(2, 0), Counts: []int32{}, Names: []*string{}},
		{Time: utc(3, 0)},
	}
}

func TestArraysUUIDsAndDocumentsAreSent(t *testing.T) {
	batch := collect(t, listedRows(t)...)
	shown := func(column int) []string {
		found := make([]string, batch.NumRows())
		for row := range found {
			found[row] = batch.Column(column).ValueStr(row)
		}
		return found
	}
	const null = array.NullValueStr
	for column, want := range [][]string{
		1: {"[1,-2,3]", "[]", null}, 2: {"[0.5,null]", null, null}, 3: {"[1,2,3]", "[0,0,0]", "[0,0,0]"},
		4: {`["a,b",null]`, "[]", null}, 6: {`["12.34",null]`, null, null},
		7: {"a0000000-0000-0000-0000-000000000011", "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"},
		8: {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", null, null}, 9: {`{"a": 1}`, null, null},
		10: {`["01000000-0000-0000-0000-000000000000","00000000-0000-0000-0000-000000000000"]`, null, null},
	} {
		if got := shown(column); want != nil && !reflect.DeepEqual(got, want) {
			t.Errorf("column %d is %q, wanted %q", column, got, want)
		}
	}
	stops := batch.Column(5).(*array.List)
	if got := stops.ListValues().(*array.Timestamp).Value(0); got != 5_007 || stops.NullN() != 2 {
		t.Error(stops)
	}
	if empty := collect[listed](t); empty.NumRows() != 0 {
		t.Error(empty)
	}
}

func TestElementsThatCannotBeStoredAreRefused(t *testing.T) {
	layout, err := layoutOf(reflect.TypeFor[listed](), false)
	if err != nil {
		t.Fatal(err)
	}
	collector := newCollector[listed](layout)
	bad := "\xff"
	for _, c := range []struct {
		row  listed
		want string
	}{
		{listed{Names: []*string{nil, &bad}}, "field listed.Names ([]*string): element 1: the text"},
		{listed{Prices: []pgtype.Numeric{numericOf(t, "1.234")}}, "element 0: the decimal"},
		{listed{Stops: []time.Time{time.Unix(math.MaxInt64/1000, 0)}}, "element 0:"},
		{listed{Doc: json.RawMessage(`{`)}, "field listed.Doc (json.RawMessage): the text \"{\" is not JSON"},
	} {
		c.row.Time = utc(1, 0)
		if _, err := collector.hold(time.Time{}, c.row); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, wanted: %s", err, c.want)
		}
	}
}

func TestArraysFitColumnsOfArrays(t *testing.T) {
	stamp := func(unit arrow.TimeUnit) arrow.DataType { return &arrow.TimestampType{Unit: unit, TimeZone: "UTC"} }
	type row struct {
		Time   time.Time
		Counts []int32
		Stops  []time.Time
		Prices []string `atsdb:"decimal"`
	}
	digits := &arrow.Decimal128Type{Precision: 9, Scale: 3}
	fields := []arrow.Field{
		{Name: "time", Type: stamp(arrow.Second)}, {Name: "counts", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true},
		{Name: "stops", Type: arrow.ListOf(stamp(arrow.Second)), Nullable: true}, {Name: "prices", Type: arrow.ListOf(digits)},
	}
	fit := func() (*layout, error) {
		found, err := layoutOf(reflect.TypeFor[row](), false)
		if err != nil {
			t.Fatal(err)
		}
		_, err = found.fitTo("r", arrow.NewSchema(fields, nil))
		return found, err
	}
	found, err := fit()
	if err != nil {
		t.Fatal(err)
	}
	for column, want := range map[int]string{1: "INT[]", 2: "TIMESTAMP(0)[]", 3: "DECIMAL(9, 3)[]"} {
		if got := found.columns[column].leaf.sql; got != want {
			t.Errorf("column %d is sent as %s, wanted %s", column, got, want)
		}
	}
	fields[1].Type = arrow.ListOf(arrow.PrimitiveTypes.Int16)
	if _, err := fit(); err == nil || !strings.Contains(err.Error(), "is SMALLINT[], which does not hold every INT[]") {
		t.Error(err)
	}
	fields[1].Type = arrow.PrimitiveTypes.Int32
	if _, err := fit(); err == nil || !strings.Contains(err.Error(), "is INT, which does not hold every INT[]") {
		t.Error(err)
	}
}

func TestPgxReadsArraysUUIDsAndDocuments(t *testing.T) {
	server := serve(t)
	ctx := soon(t)
	a, err := NewAppender[listed](ctx, server.client(ClientOptions{}), "rows", Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := listedRows(t)
	for _, row := range rows {
		if err := a.Append(ctx, row); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	type read struct {
		Counts  []int32
		Levels  []sql.NullFloat64
		Triple  []float32
		Names   []*string
		Key     [16]byte
		Parent  *string
		Doc     json.RawMessage
		Related [][16]byte
	}
	found, err := server.connect().Query(ctx, "SELECT counts, levels, triple, names, key, parent, doc, related FROM rows ORDER BY time")
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(found, pgx.RowToStructByName[read])
	if err != nil || len(got) != len(rows) {
		t.Fatal(len(got), err)
	}
	for i, row := range rows {
		want := read{row.Counts, row.Levels, row.Triple[:], row.Names, row.Key, row.Parent, row.Doc, row.Related}
		compareFields(t, i, want, got[i])
	}
	const others = "SELECT prices[1] = 12.34 AND prices[2] IS NULL AND stops[1] = '1970-01-01 00:00:05.007' FROM rows WHERE counts[1] = 1"
	if !ask[bool](server, others) {
		t.Error("the prices or the stops are others")
	}
}

func TestColumnsThatTheTableFillsNeedNoField(t *testing.T) {
	type row struct {
		Time time.Time
		Name string
	}
	server := serve(t)
	ctx := soon(t)
	server.exec("CREATE TABLE rows (time TIMESTAMP(9) NOT NULL, name TEXT NOT NULL, id BIGINT GENERATED ALWAYS AS IDENTITY, " +
		"kind TEXT NOT NULL DEFAULT 'new', seen TIMESTAMP NOT NULL DEFAULT now()) WITH (time = 'time', map = 'kind:u8')")
	a, err := NewAppender[row](ctx, server.client(ClientOptions{}), "rows", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := a.Append(ctx, row{utc(int64(i), 0), "a"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got := ask[int64](server, "SELECT count(DISTINCT id) FROM rows WHERE kind = 'new' AND seen > '2024-01-01'"); got != 3 {
		t.Error(got)
	}
}
