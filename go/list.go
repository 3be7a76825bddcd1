package atsdb

import (
	"fmt"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// isList returns whether a type is an array of values: a slice or an array of Go, except those of bytes, which are one
// value.
func isList(value reflect.Type, tag tag) bool {
	switch value.Kind() {
	case reflect.Slice, reflect.Array:
		isDecimal := tag.decimal != nil && isValuer(value)
		return value.Elem().Kind() != reflect.Uint8 && !isDecimal
	default:
		return false
	}
}

// elementTypes are the types of SQL that arrays may have, besides decimals and timestamps.
var elementTypes = map[string]bool{
	"BOOLEAN": true, "SMALLINT": true, "INT": true, "BIGINT": true, "REAL": true, "DOUBLE": true, "TEXT": true, "DATE": true,
	"TIME": true, "UUID": true,
}

// listLeaf returns the leaf of an array. A slice that is nil is NULL.
func listLeaf(value reflect.Type, tag tag) (leaf, error) {
	if tag.indexSQL != "" {
		return leaf{}, fmt.Errorf("%s is an array: only text can be mapped", value)
	}
	wrapping := wrappingOf(value.Elem())
	inner := wrapping.inner(value.Elem())
	if isList(inner, tag) {
		return leaf{}, fmt.Errorf("%s has several dimensions: an array has one", value)
	}
	element, err := leafOf(inner, tag)
	if err != nil {
		return leaf{}, err
	}
	isTimestamp := element.arrow.ID() == arrow.TIMESTAMP
	if !elementTypes[element.sql] && !isTimestamp && element.arrow.ID() != arrow.DECIMAL128 {
		return leaf{}, fmt.Errorf("there are no arrays of %s: use elements of another type", element.sql)
	}
	found := leaf{sql: element.sql + "[]", arrow: arrow.ListOf(element.arrow), hasTimes: element.hasTimes}
	if value.Kind() == reflect.Slice {
		found.isNull = reflect.Value.IsNil
	}
	found.sink = func() sink {
		return &listSink{kind: found.arrow, wrapping: wrapping, element: element, elements: element.sink(), ends: []int32{0}}
	}
	return found, nil
}

// listSink collects arrays: the elements of all of them, and where each one ends.
type listSink struct {
	kind     arrow.DataType
	wrapping wrapping
	element  leaf
	elements sink
	ends     []int32
	valid    []bool
	nulls    int
}

// value is an element, or false if it is NULL.
func (s *listSink) value(list reflect.Value, i int) (reflect.Value, bool) {
	value, isSet := s.wrapping.unwrap(list.Index(i))
	return value, isSet && (s.element.isNull == nil || !s.element.isNull(value))
}

func (s *listSink) measure(list reflect.Value) (int, error) {
	bytes := offsetBytes
	for i := range list.Len() {
		value, isSet := s.value(list, i)
		if !isSet {
			bytes += s.element.bytes + 1
			continue
		}
		more, err := s.elements.measure(value)
		if err != nil {
			return 0, fmt.Errorf("element %d: %w", i, err)
		}
		bytes += more + 1
	}
	return bytes, nil
}

func (s *listSink) put(list reflect.Value) {
	for i := range list.Len() {
		value, isSet := s.value(list, i)
		if !isSet {
			s.elements.putNull()
			continue
		}
		// A sink puts the value that it measured last. Its error was found before.
		_, _ = s.elements.measure(value)
		s.elements.put(value)
	}
	s.end(int32(list.Len()), true)
}

func (s *listSink) putNull() {
	s.nulls++
	s.end(0, false)
}

func (s *listSink) end(length int32, isValid bool) {
	s.ends = append(s.ends, s.ends[len(s.ends)-1]+length)
	s.valid = append(s.valid, isValid)
}

func (s *listSink) take() arrow.Array {
	validity := make([]byte, bitutil.BytesForBits(int64(len(s.valid))))
	for i, isValid := range s.valid {
		bitutil.SetBitTo(validity, i, isValid)
	}
	buffers := []*memory.Buffer{
		memory.NewBufferBytes(validity), memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(s.ends)),
	}
	data := array.NewData(s.kind, len(s.valid), buffers, []arrow.ArrayData{s.elements.take().Data()}, s.nulls, 0)
	s.ends, s.valid, s.nulls = []int32{0}, nil, 0
	return array.NewListData(data)
}
