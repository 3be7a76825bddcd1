package atsdb

import (
	"fmt"
	"reflect"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// wrapping is the way in which a field's type allows NULL.
type wrapping int

const (
	plainValue wrapping = iota
	pointer
	// validStruct is sql.Null, sql.NullInt64, pgtype.Text and so on: a value and Valid.
	validStruct
)

func wrappingOf(field reflect.Type) wrapping {
	switch field.Kind() {
	case reflect.Pointer:
		return pointer
	case reflect.Struct:
		isPair := field.NumField() == 2 && field.Field(0).IsExported()
		if isPair && hasValid(field) && !isPgTime(field) {
			return validStruct
		}
	}
	return plainValue
}

// hasValid returns whether the last field of a struct is its Valid.
func hasValid(value reflect.Type) bool {
	if value.Kind() != reflect.Struct || value.NumField() == 0 {
		return false
	}
	last := value.Field(value.NumField() - 1)
	return last.Name == "Valid" && last.Type.Kind() == reflect.Bool
}

// ownNull returns the test for NULL of a struct that has its own Valid, as pgtype.Numeric has; nil for other types.
func ownNull(value reflect.Type) func(reflect.Value) bool {
	if !hasValid(value) {
		return nil
	}
	last := value.NumField() - 1
	return func(value reflect.Value) bool { return !value.Field(last).Bool() }
}

// isPgTime returns whether a type is pgtype.Time, a time of day, or has its fields.
func isPgTime(value reflect.Type) bool { return hasFields(value, "Microseconds int64", "Valid bool") }

// isPgInterval returns whether a type is pgtype.Interval or has its fields.
func isPgInterval(value reflect.Type) bool {
	return hasFields(value, "Microseconds int64", "Days int32", "Months int32", "Valid bool")
}

func hasFields(value reflect.Type, fields ...string) bool {
	if value.Kind() != reflect.Struct || value.NumField() != len(fields) {
		return false
	}
	for i, field := range fields {
		if found := value.Field(i); found.Name+" "+found.Type.String() != field {
			return false
		}
	}
	return true
}

// inner is the type of the value itself.
func (w wrapping) inner(field reflect.Type) reflect.Type {
	switch w {
	case pointer:
		return field.Elem()
	case validStruct:
		return field.Field(0).Type
	default:
		return field
	}
}

// unwrap is the value itself, or false if it is NULL.
func (w wrapping) unwrap(value reflect.Value) (reflect.Value, bool) {
	switch w {
	case pointer:
		return value.Elem(), !value.IsNil()
	case validStruct:
		return value.Field(0), value.Field(1).Bool()
	default:
		return value, true
	}
}

// leaf describes how values of a Go type are declared and sent.
type leaf struct {
	sql    string
	arrow  arrow.DataType
	bytes  int // of a value; 0 if it depends on the value
	isTime bool
	// hasTimes is true if the values are times, or arrays of them.
	hasTimes bool
	// isNull returns whether a value is itself NULL; nil if none of the type is.
	isNull func(reflect.Value) bool
	// sink creates the sink that collects the values of a column; those that are not numbers have theirs in sink.go.
	sink func() sink
}

// sent is the type on the wire: mapped text is sent as a dictionary with the widest index.
func (l leaf) sent(tag tag) arrow.DataType {
	if tag.indexSQL != "" {
		return mappedType
	}
	return l.arrow
}

var mappedType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.String}

// leafOf returns the leaf of a type, which is neither a pointer nor a pair of a value and Valid.
func leafOf(value reflect.Type, tag tag) (leaf, error) {
	switch {
	case isList(value, tag):
		return listLeaf(value, tag)
	case tag.isUUID:
		return uuidLeaf(value)
	case tag.isJSON:
		return jsonLeaf(value)
	case tag.decimal != nil:
		return decimalLeaf(value, tag.decimal)
	case tag.isTimeOfDay || isPgTime(value):
		return timeOfDayLeaf(value)
	case tag.isInterval || isPgInterval(value):
		return intervalLeaf(value)
	case value == timeType:
		return timeLeaf(tag), nil
	}
	switch value.Kind() {
	case reflect.Bool:
		return number("BOOLEAN", arrow.FixedWidthTypes.Boolean, 1, func(b *array.BooleanBuilder, v reflect.Value) {
			b.Append(v.Bool())
		}), nil
	case reflect.Int8:
		return number("TINYINT", arrow.PrimitiveTypes.Int8, 1, func(b *array.Int8Builder, v reflect.Value) {
			b.Append(int8(v.Int()))
		}), nil
	case reflect.Int16:
		return number("SMALLINT", arrow.PrimitiveTypes.Int16, 2, func(b *array.Int16Builder, v reflect.Value) {
			b.Append(int16(v.Int()))
		}), nil
	case reflect.Int32:
		return number("INT", arrow.PrimitiveTypes.Int32, 4, func(b *array.Int32Builder, v reflect.Value) {
			b.Append(int32(v.Int()))
		}), nil
	case reflect.Int, reflect.Int64:
		return number("BIGINT", arrow.PrimitiveTypes.Int64, 8, func(b *array.Int64Builder, v reflect.Value) {
			b.Append(v.Int())
		}), nil
	case reflect.Uint8:
		return number("TINYINT UNSIGNED", arrow.PrimitiveTypes.Uint8, 1, func(b *array.Uint8Builder, v reflect.Value) {
			b.Append(uint8(v.Uint()))
		}), nil
	case reflect.Uint16:
		return number("SMALLINT UNSIGNED", arrow.PrimitiveTypes.Uint16, 2, func(b *array.Uint16Builder, v reflect.Value) {
			b.Append(uint16(v.Uint()))
		}), nil
	case reflect.Uint32:
		return number("INT UNSIGNED", arrow.PrimitiveTypes.Uint32, 4, func(b *array.Uint32Builder, v reflect.Value) {
			b.Append(uint32(v.Uint()))
		}), nil
	case reflect.Uint, reflect.Uint64:
		return number("BIGINT UNSIGNED", arrow.PrimitiveTypes.Uint64, 8, func(b *array.Uint64Builder, v reflect.Value) {
			b.Append(v.Uint())
		}), nil
	case reflect.Float32:
		return number("REAL", arrow.PrimitiveTypes.Float32, 4, func(b *array.Float32Builder, v reflect.Value) {
			// By its address: Value.Float would change the bits of a signalling NaN.
			b.Append(*v.Addr().Convert(float32Pointer).Interface().(*float32))
		}), nil
	case reflect.Float64:
		return number("DOUBLE", arrow.PrimitiveTypes.Float64, 8, func(b *array.Float64Builder, v reflect.Value) {
			b.Append(v.Float())
		}), nil
	case reflect.String:
		if tag.indexSQL != "" {
			return leaf{sql: "TEXT", arrow: arrow.BinaryTypes.String, sink: newMappedSink}, nil
		}
		return leaf{sql: "TEXT", arrow: arrow.BinaryTypes.String, sink: newTextSink}, nil
	case reflect.Slice, reflect.Array:
		if value.Elem().Kind() == reflect.Uint8 {
			found := leaf{sql: "BLOB", arrow: arrow.BinaryTypes.Binary, sink: newBytesSink}
			if value.Kind() == reflect.Slice {
				found.isNull = reflect.Value.IsNil
			}
			return found, nil
		}
	}
	return leaf{}, fmt.Errorf("%s cannot be a column: use bool, integers, floats, string, []byte, time.Time, "+
		"time.Duration, pgtype.Time, pgtype.Interval, a slice of one of these, a pointer to it or sql.Null of it, or leave the "+
		"field out by atsdb:\"-\"", value)
}

var float32Pointer = reflect.TypeFor[*float32]()

// number is a leaf whose values have a fixed width.
func number[B array.Builder](sql string, kind arrow.DataType, bytes int, put func(B, reflect.Value)) leaf {
	return leaf{sql: sql, arrow: kind, bytes: bytes, sink: func() sink {
		builder := array.NewBuilder(allocator, kind).(B)
		return &numberSink{builder, bytes, func(value reflect.Value) { put(builder, value) }}
	}}
}

// timeLeaf is the leaf of time.Time.
func timeLeaf(tag tag) leaf {
	if tag.isDate {
		return leaf{
			sql: "DATE", arrow: arrow.FixedWidthTypes.Date32, bytes: 4, isTime: true, hasTimes: true, sink: newDateSink,
		}
	}
	unit := arrow.Nanosecond
	if tag.hasUnit {
		unit = tag.unit
	}
	return timestampLeaf(unit)
}

func timestampLeaf(unit arrow.TimeUnit) leaf {
	kind := &arrow.TimestampType{Unit: unit, TimeZone: "UTC"}
	return leaf{
		sql: timestampSQL[unit], arrow: kind, bytes: 8, isTime: true, hasTimes: true,
		sink: func() sink { return newTimeSink(kind) },
	}
}

var timestampSQL = map[arrow.TimeUnit]string{
	arrow.Second: "TIMESTAMP(0)", arrow.Millisecond: "TIMESTAMP(3)",
	arrow.Microsecond: "TIMESTAMP(6)", arrow.Nanosecond: "TIMESTAMP(9)",
}

// timeOfDayLeaf is the leaf of a time.Time without its date, and of pgtype.Time.
func timeOfDayLeaf(value reflect.Type) (leaf, error) {
	found := leaf{sql: "TIME", arrow: arrow.FixedWidthTypes.Time64us, bytes: 8, isNull: ownNull(value)}
	switch {
	case value == timeType:
		found.sink = func() sink { return newTimeOfDaySink(clockOf) }
	case isPgTime(value):
		found.sink = func() sink { return newTimeOfDaySink(microsecondsOf) }
	default:
		return leaf{}, fmt.Errorf("%s is not a time of day: use a time.Time or pgtype.Time", value)
	}
	return found, nil
}

// intervalLeaf is the leaf of a time.Duration that is an interval, and of pgtype.Interval.
func intervalLeaf(value reflect.Type) (leaf, error) {
	found := leaf{sql: "INTERVAL", arrow: arrow.FixedWidthTypes.MonthDayNanoInterval, bytes: 16, isNull: ownNull(value)}
	switch {
	case value == durationType:
		found.sink = func() sink { return newIntervalSink(durationInterval) }
	case isPgInterval(value):
		found.sink = func() sink { return newIntervalSink(pgInterval) }
	default:
		return leaf{}, fmt.Errorf("%s is not an interval: use a time.Duration or pgtype.Interval", value)
	}
	return found, nil
}

var durationType = reflect.TypeFor[time.Duration]()

// count returns a time as a count of a unit since 1970, truncated to the unit, and false if the count is out of range.
func count(at time.Time, unit arrow.TimeUnit) (int64, bool) {
	seconds, nanoseconds := at.Unix(), int64(at.Nanosecond())
	perSecond := int64(time.Second / unit.Multiplier())
	// One second is left on each side, so that the fraction fits, too.
	secondsMax := int64(1)<<62/perSecond*2 - 1
	if seconds > secondsMax || seconds < -secondsMax {
		return 0, false
	}
	return seconds*perSecond + nanoseconds/int64(unit.Multiplier()), true
}
