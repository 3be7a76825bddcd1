package atsdb

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// isUUID returns whether a type is [16]byte, as the UUIDs of well-known packages are.
func isUUID(value reflect.Type) bool {
	return value.Kind() == reflect.Array && value.Len() == 16 && value.Elem().Kind() == reflect.Uint8
}

// uuidLeaf is the leaf of [16]byte and of text that is a UUID.
func uuidLeaf(value reflect.Type) (leaf, error) {
	switch {
	case isUUID(value):
		return textualLeaf("UUID", uuidText), nil
	case value.Kind() == reflect.String:
		return textualLeaf("UUID", plainText), nil
	default:
		return leaf{}, fmt.Errorf("%s is not a UUID: use a string or [16]byte", value)
	}
}

func uuidText(value reflect.Value) (string, error) {
	digits := hex.EncodeToString(bytesOf(value))
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:], nil
}

// jsonLeaf is the leaf of text that is a JSON document, such as json.RawMessage. Bytes that are nil are NULL.
func jsonLeaf(value reflect.Type) (leaf, error) {
	switch {
	case value.Kind() == reflect.String:
		return textualLeaf("JSON", func(value reflect.Value) (string, error) { return checkedJSON(value.String()) }), nil
	case value.Kind() == reflect.Slice && value.Elem().Kind() == reflect.Uint8:
		found := textualLeaf("JSON", func(value reflect.Value) (string, error) { return checkedJSON(string(value.Bytes())) })
		found.isNull = reflect.Value.IsNil
		return found, nil
	default:
		return leaf{}, fmt.Errorf("%s is not a JSON document: use a string, []byte or json.RawMessage", value)
	}
}

func checkedJSON(text string) (string, error) {
	if !json.Valid([]byte(text)) {
		return "", errors.New("the text " + short(text) + " is not JSON")
	}
	return text, nil
}

// textualLeaf is the leaf of values that are sent as text.
func textualLeaf(sql string, text func(reflect.Value) (string, error)) leaf {
	return leaf{sql: sql, arrow: arrow.BinaryTypes.String, sink: func() sink {
		return &textualSink{builder: array.NewStringBuilder(allocator), text: text}
	}}
}

// textualSink makes the text of a value when it is measured, which is always done just before it is put.
type textualSink struct {
	builder  *array.StringBuilder
	text     func(reflect.Value) (string, error)
	measured string
}

func (s *textualSink) measure(value reflect.Value) (int, error) {
	text, err := s.text(value)
	if err != nil {
		return 0, err
	}
	s.measured = text
	return measureText(text)
}

func (s *textualSink) put(reflect.Value) { s.builder.Append(s.measured) }
func (s *textualSink) putNull()          { s.builder.AppendNull() }
func (s *textualSink) take() arrow.Array { return s.builder.NewArray() }
