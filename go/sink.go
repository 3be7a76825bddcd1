package atsdb

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Go's own memory: nothing needs to be released.
var allocator = memory.NewGoAllocator()

// sink collects the values of a column.
type sink interface {
	// measure returns how many bytes a value takes, or an error if it cannot be stored. It adds nothing.
	measure(value reflect.Value) (int, error)
	// put adds the value that was measured last.
	put(value reflect.Value)
	putNull()
	// take returns the values since the last call.
	take() arrow.Array
}

type numberSink struct {
	builder array.Builder
	bytes   int
	append  func(reflect.Value)
}

func (s *numberSink) measure(reflect.Value) (int, error) { return s.bytes, nil }
func (s *numberSink) put(value reflect.Value)            { s.append(value) }
func (s *numberSink) putNull()                           { s.builder.AppendNull() }
func (s *numberSink) take() arrow.Array                  { return s.builder.NewArray() }

// offsetBytes is the space that a text or bytes take in addition to their content.
const offsetBytes = 4

func measureText(text string) (int, error) {
	if !utf8.ValidString(text) {
		return 0, fmt.Errorf("the text %s is not UTF-8", short(text))
	}
	return offsetBytes + len(text), nil
}

func short(text string) string {
	const bytesMax = 60
	if len(text) > bytesMax {
		return fmt.Sprintf("%q...", text[:bytesMax])
	}
	return fmt.Sprintf("%q", text)
}

type textSink struct{ builder *array.StringBuilder }

func newTextSink() sink { return &textSink{array.NewStringBuilder(allocator)} }

func (s *textSink) measure(value reflect.Value) (int, error) { return measureText(value.String()) }
func (s *textSink) put(value reflect.Value)                  { s.builder.Append(value.String()) }
func (s *textSink) putNull()                                 { s.builder.AppendNull() }
func (s *textSink) take() arrow.Array                        { return s.builder.NewArray() }

// mappedSink sends each distinct text of a batch once.
type mappedSink struct {
	indices *array.Uint32Builder
	texts   *array.StringBuilder
	known   map[string]uint32
}

func newMappedSink() sink {
	return &mappedSink{array.NewUint32Builder(allocator), array.NewStringBuilder(allocator), map[string]uint32{}}
}

// knownBytes is the approximate size of an entry of the map.
const knownBytes = 48

func (s *mappedSink) measure(value reflect.Value) (int, error) {
	text := value.String()
	if _, isKnown := s.known[text]; isKnown {
		return offsetBytes, nil
	}
	bytes, err := measureText(text)
	return offsetBytes + bytes + knownBytes, err
}

func (s *mappedSink) put(value reflect.Value) {
	text := value.String()
	index, isKnown := s.known[text]
	if !isKnown {
		index = uint32(len(s.known))
		s.known[text] = index
		s.texts.Append(text)
	}
	s.indices.Append(index)
}

func (s *mappedSink) putNull() { s.indices.AppendNull() }

func (s *mappedSink) take() arrow.Array {
	clear(s.known)
	return array.NewDictionaryArray(mappedType, s.indices.NewArray(), s.texts.NewArray())
}

type bytesSink struct{ builder *array.BinaryBuilder }

func newBytesSink() sink {
	return &bytesSink{array.NewBinaryBuilder(allocator, arrow.BinaryTypes.Binary)}
}

func bytesOf(value reflect.Value) []byte {
	if value.Kind() == reflect.Array {
		value = value.Slice(0, value.Len())
	}
	return value.Bytes()
}

func (s *bytesSink) measure(value reflect.Value) (int, error) { return offsetBytes + value.Len(), nil }
func (s *bytesSink) put(value reflect.Value)                  { s.builder.Append(bytesOf(value)) }
func (s *bytesSink) putNull()                                 { s.builder.AppendNull() }
func (s *bytesSink) take() arrow.Array                        { return s.builder.NewArray() }

type timeSink struct {
	builder *array.TimestampBuilder
	unit    arrow.TimeUnit
}

func newTimeSink(kind *arrow.TimestampType) sink {
	return &timeSink{array.NewTimestampBuilder(allocator, kind), kind.Unit}
}

func timeOf(value reflect.Value) time.Time { return *value.Addr().Interface().(*time.Time) }

func (s *timeSink) measure(value reflect.Value) (int, error) {
	at := timeOf(value)
	if _, fits := count(at, s.unit); !fits {
		message := "%s cannot be counted in %s: choose another unit by the tag atsdb:\"unit:us\""
		if at.IsZero() {
			message = "the time is not set: " + message
		}
		return 0, fmt.Errorf(message, at.UTC().Format(time.RFC3339Nano), s.unit)
	}
	return 8, nil
}

func (s *timeSink) put(value reflect.Value) {
	at, _ := count(timeOf(value), s.unit)
	s.builder.Append(arrow.Timestamp(at))
}

func (s *timeSink) putNull()          { s.builder.AppendNull() }
func (s *timeSink) take() arrow.Array { return s.builder.NewArray() }

type dateSink struct{ builder *array.Date32Builder }

func newDateSink() sink { return &dateSink{array.NewDate32Builder(allocator)} }

// days are the days from 1970 to the date that a time shows in its own zone.
func days(at time.Time) int64 {
	year, month, day := at.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60)
}

func (s *dateSink) measure(value reflect.Value) (int, error) {
	if found := days(timeOf(value)); found != int64(int32(found)) {
		return 0, errors.New("the date is out of range")
	}
	return 4, nil
}

func (s *dateSink) put(value reflect.Value) { s.builder.Append(arrow.Date32(days(timeOf(value)))) }
func (s *dateSink) putNull()                { s.builder.AppendNull() }
func (s *dateSink) take() arrow.Array       { return s.builder.NewArray() }

type timeOfDaySink struct {
	builder      *array.Time64Builder
	microseconds func(reflect.Value) int64
}

func newTimeOfDaySink(microseconds func(reflect.Value) int64) sink {
	kind := arrow.FixedWidthTypes.Time64us.(*arrow.Time64Type)
	return &timeOfDaySink{array.NewTime64Builder(allocator, kind), microseconds}
}

// clockOf is the time of day that a time shows in its own zone.
func clockOf(value reflect.Value) int64 {
	at := timeOf(value)
	hour, minute, second := at.Clock()
	return int64(hour*3600+minute*60+second)*1_000_000 + int64(at.Nanosecond()/1000)
}

// microsecondsOf is the first field of pgtype.Time, and of pgtype.Interval.
func microsecondsOf(value reflect.Value) int64 { return value.Field(0).Int() }

func (s *timeOfDaySink) measure(value reflect.Value) (int, error) {
	const dayMicroseconds = 24 * 60 * 60 * 1_000_000
	if found := s.microseconds(value); found < 0 || found >= dayMicroseconds {
		return 0, fmt.Errorf("a time of day has 0 to %d microseconds, not %d", dayMicroseconds-1, found)
	}
	return 8, nil
}

func (s *timeOfDaySink) put(value reflect.Value) {
	s.builder.Append(arrow.Time64(s.microseconds(value)))
}
func (s *timeOfDaySink) putNull()          { s.builder.AppendNull() }
func (s *timeOfDaySink) take() arrow.Array { return s.builder.NewArray() }

type intervalSink struct {
	builder  *array.MonthDayNanoIntervalBuilder
	interval func(reflect.Value) (arrow.MonthDayNanoInterval, error)
}

func newIntervalSink(interval func(reflect.Value) (arrow.MonthDayNanoInterval, error)) sink {
	return &intervalSink{array.NewMonthDayNanoIntervalBuilder(allocator), interval}
}

func durationInterval(value reflect.Value) (arrow.MonthDayNanoInterval, error) {
	return arrow.MonthDayNanoInterval{Nanoseconds: value.Int()}, nil
}

func pgInterval(value reflect.Value) (arrow.MonthDayNanoInterval, error) {
	const daysField, monthsField = 1, 2
	microseconds := microsecondsOf(value)
	if microseconds > math.MaxInt64/1000 || microseconds < math.MinInt64/1000 {
		return arrow.MonthDayNanoInterval{}, fmt.Errorf("the interval has %d microseconds, which is more than 292 years: use its days",
			microseconds)
	}
	return arrow.MonthDayNanoInterval{
		Months: int32(value.Field(monthsField).Int()), Days: int32(value.Field(daysField).Int()),
		Nanoseconds: microseconds * 1000,
	}, nil
}

func (s *intervalSink) measure(value reflect.Value) (int, error) {
	_, err := s.interval(value)
	return 16, err
}

func (s *intervalSink) put(value reflect.Value) {
	// It was measured before.
	found, _ := s.interval(value)
	s.builder.Append(found)
}

func (s *intervalSink) putNull()          { s.builder.AppendNull() }
func (s *intervalSink) take() arrow.Array { return s.builder.NewArray() }
