package atsdb

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"
)

// tag is the content of a field's tags.
type tag struct {
	name     string
	indexSQL string // "u8", "u16" or "u32" in a mapped column
	unit     arrow.TimeUnit
	hasUnit  bool
	isTime   bool
	isDate   bool
	// decimal has the digits of a decimal; hasDigits is true if the tag names them.
	decimal     *arrow.Decimal128Type
	hasDigits   bool
	isTimeOfDay bool
	isInterval  bool
	isUUID      bool
	isJSON      bool
	isKey       bool
	inline      bool
	skip        bool
}

var indexWidths = map[string]string{
	"uint8": "u8", "uint16": "u16", "uint32": "u32", "u8": "u8", "u16": "u16", "u32": "u32",
}

var timeUnits = map[string]arrow.TimeUnit{
	"s": arrow.Second, "ms": arrow.Millisecond, "us": arrow.Microsecond, "ns": arrow.Nanosecond,
}

// parseTag reads the tags of a field: `atsdb`, and the name in `db`.
func parseTag(field reflect.StructField) (tag, error) {
	found := tag{}
	if name, _, _ := strings.Cut(field.Tag.Get("db"), ","); name == "-" {
		found.skip = true
	} else {
		found.name = name
	}
	text, exists := field.Tag.Lookup("atsdb")
	if !exists {
		return found, found.checkName()
	}
	found.skip = false
	for option := range strings.SplitSeq(text, ",") {
		if err := found.set(strings.TrimSpace(option)); err != nil {
			return tag{}, fmt.Errorf("tag atsdb:%q: %w", text, err)
		}
	}
	if err := found.checkKinds(); err != nil {
		return tag{}, fmt.Errorf("tag atsdb:%q: %w", text, err)
	}
	return found, found.checkName()
}

func (t *tag) set(option string) error {
	key, value, hasValue := strings.Cut(option, ":")
	switch {
	case key == "map" && hasValue:
		index, known := indexWidths[value]
		if !known {
			return fmt.Errorf("map:%s: use map:uint8, map:uint16 or map:uint32", value)
		}
		t.indexSQL = index
	case key == "unit" && hasValue:
		unit, known := timeUnits[value]
		if !known {
			return fmt.Errorf("unit:%s: use unit:s, unit:ms, unit:us or unit:ns", value)
		}
		t.unit, t.hasUnit = unit, true
	case key == "name" && value != "":
		t.name = value
	case option == "time":
		t.isTime = true
	case option == "date":
		t.isDate = true
	case option == "timeofday":
		t.isTimeOfDay = true
	case option == "interval":
		t.isInterval = true
	case option == "uuid":
		t.isUUID = true
	case option == "json":
		t.isJSON = true
	case option == "decimal":
		t.decimal = decimalDefault
	case key == "decimal":
		digits, err := parseDigits(value)
		if err != nil {
			return err
		}
		t.decimal, t.hasDigits = digits, true
	case option == "key":
		t.isKey = true
	case option == "inline":
		t.inline = true
	case option == "-":
		t.skip = true
	default:
		return fmt.Errorf("%q is not an option: use map:uint8, map:uint16, map:uint32, name:COLUMN, time, unit:UNIT, date, "+
			"timeofday, interval, decimal:12.2, uuid, json, key, inline or -", option)
	}
	return nil
}

// checkKinds refuses options that give a column several types.
func (t *tag) checkKinds() error {
	if t.isDate && t.hasUnit {
		return errors.New("a date has no unit")
	}
	kinds := 0
	for _, isKind := range []bool{
		t.indexSQL != "", t.isTime || t.hasUnit, t.isDate, t.decimal != nil, t.isTimeOfDay, t.isInterval, t.isUUID, t.isJSON,
	} {
		if isKind {
			kinds++
		}
	}
	if kinds > 1 {
		return errors.New("a column has one type: choose one of map, time or unit, date, decimal, timeofday, interval, uuid and json")
	}
	return nil
}

// checkName refuses names that the lists in the options of CREATE TABLE cannot hold.
func (t *tag) checkName() error {
	if strings.ContainsAny(t.name, ",:'\x00") {
		return fmt.Errorf("the column's name %q has a comma, a colon, a quote or a zero byte", t.name)
	}
	return nil
}

// snakeCase is the name of a field's column: SensorID is sensor_id, HTTPStatus is http_status, Count1 is count1.
func snakeCase(name string) string {
	letters := []rune(name)
	var out strings.Builder
	for i, letter := range letters {
		if unicode.IsUpper(letter) && i > 0 && letters[i-1] != '_' {
			beginsWord := !unicode.IsUpper(letters[i-1])
			endsCapitals := i+1 < len(letters) && unicode.IsLower(letters[i+1])
			if beginsWord || endsCapitals {
				out.WriteByte('_')
			}
		}
		out.WriteRune(unicode.ToLower(letter))
	}
	return out.String()
}
