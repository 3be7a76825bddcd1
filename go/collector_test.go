package atsdb

import (
	"bytes"
	"database/sql"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/jackc/pgx/v5/pgtype"
)

// collect passes rows through a collector and an Arrow stream.
func collect[T any](t *testing.T, rows ...T) arrow.RecordBatch {
	t.Helper()
	found, err := layoutOf(reflect.TypeFor[T](), false)
	if err != nil {
		t.Fatal(err)
	}
	collector := newCollector[T](found)
	for _, row := range rows {
		size, err := collector.hold(time.Unix(1, 0), row)
		if err != nil {
			t.Fatal(err)
		}
		collector.add(size)
	}
	stream, err := encode(collector.take())
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, stream)
}

func decode(t *testing.T, stream []byte) arrow.RecordBatch {
	t.Helper()
	reader, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	if !reader.Next() {
		t.Fatal("no batch", reader.Err())
	}
	return reader.RecordBatch()
}

func TestEachValueIsSentBitForBit(t *testing.T) {
	type row struct {
		Time    time.Time
		Int8    int8
		Int64   int64
		Uint64  uint64
		Float32 float32
		Float64 float64
		Text    string
		Status  status `atsdb:"map:uint8"`
		Bytes   []byte
		Array   [2]byte
		Millis  time.Time `atsdb:"unit:ms"`
		Day     time.Time `atsdb:"date"`
		Took    time.Duration
	}
	signalling32, signalling64 := math.Float32frombits(0x7f800001), math.Float64frombits(0x7ff0000000000001)
	before1970 := time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
	zone := time.FixedZone("east", 3*60*60)
	batch := collect(t,
		row{before1970, math.MinInt8, math.MinInt64, math.MaxUint64, signalling32, signalling64, "a\x00b", "late",
			[]byte{}, [2]byte{1, 2}, before1970, time.Date(2024, 3, 1, 1, 0, 0, 0, zone), -time.Second},
		row{Time: time.Unix(5, 7), Float32: float32(math.Copysign(0, -1)), Status: "ok",
			Millis: time.Unix(0, 0), Day: before1970},
		row{Time: time.Unix(6, 0), Status: "late", Millis: time.Unix(0, 0), Day: time.Unix(0, 0).UTC()},
	)
	if got := batch.Column(0).(*array.Timestamp).TimestampValues(); !reflect.DeepEqual(got,
		[]arrow.Timestamp{-1, 5_000_000_007, 6_000_000_000}) {
		t.Error("times", got)
	}
	if got := batch.Column(1).(*array.Int8).Value(0); got != math.MinInt8 {
		t.Error(got)
	}
	if got := batch.Column(2).(*array.Int64).Value(0); got != math.MinInt64 {
		t.Error(got)
	}
	if got := batch.Column(3).(*array.Uint64).Value(0); got != math.MaxUint64 {
		t.Error(got)
	}
	floats := batch.Column(4).(*array.Float32)
	if math.Float32bits(floats.Value(0)) != 0x7f800001 || math.Float32bits(floats.Value(1)) != 1<<31 {
		t.Errorf("%x %x", math.Float32bits(floats.Value(0)), math.Float32bits(floats.Value(1)))
	}
	if got := math.Float64bits(batch.Column(5).(*array.Float64).Value(0)); got != 0x7ff0000000000001 {
		t.Errorf("%x", got)
	}
	if got := batch.Column(6).(*array.String).Value(0); got != "a\x00b" {
		t.Errorf("%q", got)
	}
	mapped := batch.Column(7).(*array.Dictionary)
	if texts := mapped.Dictionary().(*array.String); texts.Len() != 2 ||
		texts.Value(mapped.GetValueIndex(0)) != "late" || texts.Value(mapped.GetValueIndex(2)) != "late" ||
		texts.Value(mapped.GetValueIndex(1)) != "ok" {
		t.Error(mapped)
	}
	blobs := batch.Column(8).(*array.Binary)
	if blobs.IsNull(0) || len(blobs.Value(0)) != 0 || !blobs.IsNull(1) {
		t.Error("an empty slice is empty, and nil is NULL:", blobs)
	}
	if got := batch.Column(9).(*array.Binary).Value(0); !bytes.Equal(got, []byte{1, 2}) {
		t.Error(got)
	}
	if got := batch.Column(10).(*array.Timestamp).Value(0); got != -1 {
		t.Error("a time before 1970 is cut downwards:", got)
	}
	dates := batch.Column(11).(*array.Date32)
	if got := []arrow.Date32{dates.Value(0), dates.Value(1), dates.Value(2)}; !reflect.DeepEqual(got,
		[]arrow.Date32{19783, -1, 0}) {
		t.Error("a date is the day in the zone of its time:", got)
	}
	if got := batch.Column(12).(*array.Int64).Value(0); got != -1_000_000_000 {
		t.Error(got)
	}
}

func TestNullsOfEachKind(t *testing.T) {
	type row struct {
		Time    time.Time
		Pointer *float32
		Null    sql.Null[bool]
		Text    sql.NullString `atsdb:"map:uint8"`
		When    sql.NullTime
		Blob    *[]byte
		Pgx     pgtype.Text
		Pgx8    pgtype.Int8
	}
	seven := float32(7)
	blob := []byte{}
	batch := collect(t, row{Time: time.Unix(1, 0)},
		row{time.Unix(1, 0), &seven, sql.Null[bool]{V: false, Valid: true}, sql.NullString{String: "", Valid: true},
			sql.NullTime{Time: time.Unix(0, 1), Valid: true}, &blob,
			pgtype.Text{String: "x", Valid: true}, pgtype.Int8{Int64: 0, Valid: true}},
	)
	for i := 1; i < int(batch.NumCols()); i++ {
		column := batch.Column(i)
		if !column.IsNull(0) || column.IsNull(1) {
			t.Errorf("%s: %v", batch.ColumnName(i), column)
		}
		if !batch.Schema().Field(i).Nullable {
			t.Errorf("%s is NOT NULL", batch.ColumnName(i))
		}
	}
	if batch.Schema().Field(0).Nullable {
		t.Error("the time may be NULL")
	}
}

func TestACollectorBeginsAnew(t *testing.T) {
	type row struct {
		Time   time.Time
		Status string `atsdb:"map:uint8"`
		Text   string
	}
	found, _ := layoutOf(reflect.TypeFor[row](), false)
	collector := newCollector[row](found)
	for _, word := range []string{"first", "second"} {
		size, err := collector.hold(time.Time{}, row{time.Unix(1, 0), word, word})
		if err != nil {
			t.Fatal(err)
		}
		collector.add(size)
		if collector.rows != 1 || collector.bytes != size {
			t.Error(collector.rows, collector.bytes, size)
		}
		stream, err := encode(collector.take())
		if err != nil {
			t.Fatal(err)
		}
		batch := decode(t, stream)
		texts := batch.Column(1).(*array.Dictionary).Dictionary().(*array.String)
		if batch.NumRows() != 1 || texts.Len() != 1 || texts.Value(0) != word {
			t.Error(batch)
		}
	}
}

func TestValuesThatCannotBeStoredAreRefused(t *testing.T) {
	type row struct {
		Time   time.Time
		Text   string
		Status string `atsdb:"map:uint8"`
		Sent   *time.Time
	}
	found, _ := layoutOf(reflect.TypeFor[row](), false)
	found.columns[3].refusesNull = true
	collector := newCollector[row](found)
	now := time.Unix(1, 0)
	far := time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		row  row
		want string
	}{
		{row{now, "a\xff", "", &now}, `field row.Text (string): the text "a\xff" is not UTF-8`},
		{row{now, "", "\xff", &now}, "field row.Status (string)"},
		{row{far, "", "", &now}, `field row.Time (time.Time): 2300-01-01T00:00:00Z cannot be counted in ns`},
		{row{now, "", "", &time.Time{}}, "field row.Sent (*time.Time): the time is not set"},
		{row{now, "", "", nil}, "field row.Sent (*time.Time): column sent is NOT NULL"},
		{row{Sent: &now}, "field row.Time (time.Time): the time is not set"},
	} {
		_, err := collector.hold(time.Time{}, c.row)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, wanted: %s", err, c.want)
		}
	}
	if collector.rows != 0 || collector.take().NumRows() != 0 {
		t.Error("a refused row left something")
	}
}

func TestTimesAreCountedToTheirLimits(t *testing.T) {
	for _, unit := range []arrow.TimeUnit{arrow.Second, arrow.Millisecond, arrow.Microsecond, arrow.Nanosecond} {
		perSecond := int64(time.Second / unit.Multiplier())
		for _, seconds := range []int64{0, -1, 1, math.MaxInt64/perSecond - 2, math.MinInt64/perSecond + 3} {
			if seconds > 1<<55 || seconds < -1<<55 {
				continue // time.Time itself cannot be that far away
			}
			got, fits := count(time.Unix(seconds, 999_999_999), unit)
			if want := seconds*perSecond + perSecond - 1; unit != arrow.Second && (!fits || got != want) {
				t.Errorf("%d s in %s: %d %v, wanted %d", seconds, unit, got, fits, want)
			}
			if unit == arrow.Second && got != seconds {
				t.Errorf("%d s: %d", seconds, got)
			}
		}
	}
	if _, fits := count(time.Unix(math.MaxInt64/1_000_000_000+1, 0), arrow.Nanosecond); fits {
		t.Error("more than an int64 of nanoseconds")
	}
}
