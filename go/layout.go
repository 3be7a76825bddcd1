package atsdb

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// column is one column of a struct's table.
type column struct {
	name     string
	place    string // for errors: "field Reading.Sensor (string)"
	index    []int  // the index path of the field; nil for the time that is passed with the row
	tag      tag
	value    reflect.Type // of the field, without its pointer or Valid
	leaf     leaf
	wrapping wrapping
	// refusesNull is true if the column of an existing table is NOT NULL although the field could be NULL.
	refusesNull bool
}

func (c *column) nullable() bool { return c.wrapping != plainValue || c.leaf.isNull != nil }

// layout is the columns of a struct.
type layout struct {
	columns []*column
	// time is the table's time; nil in a plain table.
	time *column
	// timeBeside is true if the time is not a field but an argument that is passed with each row.
	timeBeside bool
}

var timeType = reflect.TypeFor[time.Time]()

// layoutOf reads the columns of a struct type. A plain table has no time.
func layoutOf(row reflect.Type, plain bool) (*layout, error) {
	if row.Kind() != reflect.Struct || row == timeType {
		return nil, fmt.Errorf("atsdb: %s is not a struct: the type of the rows declares the table's columns", row)
	}
	found := &layout{}
	if err := found.addFields(row, row.Name(), nil); err != nil {
		return nil, err
	}
	if len(found.columns) == 0 {
		return nil, fmt.Errorf("atsdb: %s has no exported field, so its table would have no column", row)
	}
	if err := found.findTime(row, plain); err != nil {
		return nil, err
	}
	seen := map[string]*column{}
	for _, column := range found.columns {
		key := strings.ToLower(column.name)
		if other := seen[key]; other != nil {
			return nil, fmt.Errorf("atsdb: %s and %s are both column %s", other.place, column.place, column.name)
		}
		seen[key] = column
	}
	return found, nil
}

func (l *layout) addFields(row reflect.Type, path string, index []int) error {
	for i := range row.NumField() {
		field := row.Field(i)
		place := fmt.Sprintf("field %s.%s (%s)", path, field.Name, field.Type)
		fail := func(err error) error { return fmt.Errorf("atsdb: %s: %w", place, err) }
		tag, err := parseTag(field)
		if err != nil {
			return fail(err)
		}
		if tag.skip {
			continue
		}
		isStruct := field.Type.Kind() == reflect.Struct && !isValue(field.Type, tag)
		if tag.inline && !(isStruct && field.IsExported()) {
			return fail(errors.New("only structs in exported fields can be inline"))
		}
		if isStruct && (field.Anonymous || tag.inline) {
			fieldIndex := append(append([]int{}, index...), i)
			if err := l.addFields(field.Type, path+"."+field.Name, fieldIndex); err != nil {
				return err
			}
			continue
		}
		if field.Anonymous && field.Type.Kind() == reflect.Pointer {
			return fail(errors.New("embed the struct itself, not a pointer to it"))
		}
		if !field.IsExported() {
			if _, isTagged := field.Tag.Lookup("atsdb"); isTagged {
				return fail(errors.New("a column's field must be exported: begin its name with a capital letter"))
			}
			continue
		}
		if isStruct {
			if isValuer(field.Type) {
				return fail(errors.New(`a struct is not a column: if it is a decimal, tag it atsdb:"decimal:12.2"; ` +
					`otherwise leave it out by atsdb:"-"`))
			}
			return fail(errors.New(`a struct is not a column: embed it or tag it atsdb:"inline", or leave it out by atsdb:"-"`))
		}
		column, err := columnOf(field.Type, tag)
		if err != nil {
			return fail(err)
		}
		column.name = tag.name
		if column.name == "" {
			column.name = snakeCase(field.Name)
		}
		column.place, column.index = place, append(append([]int{}, index...), i)
		l.columns = append(l.columns, column)
	}
	return nil
}

// isValue returns whether a struct is the value of one column.
func isValue(field reflect.Type, tag tag) bool {
	return field == timeType || wrappingOf(field) != plainValue || isPgTime(field) || isPgInterval(field) || tag.decimal != nil
}

// columnOf returns the column of a field, without its name and offset.
func columnOf(field reflect.Type, tag tag) (*column, error) {
	wrapping := wrappingOf(field)
	value := wrapping.inner(field)
	leaf, err := leafOf(value, tag)
	if err != nil {
		return nil, err
	}
	if tag.indexSQL != "" && leaf.arrow.ID() != arrow.STRING {
		return nil, errors.New("only text can be mapped")
	}
	isCount := tag.isTime && leaf.arrow.ID() == arrow.INT64
	if tag.isDate && !leaf.hasTimes || tag.hasUnit && !leaf.hasTimes && !isCount {
		return nil, errors.New("only a time.Time has a unit or is a date")
	}
	return &column{tag: tag, value: value, leaf: leaf, wrapping: wrapping}, nil
}

// findTime decides which column is the time, as the package's documentation says.
func (l *layout) findTime(row reflect.Type, plain bool) error {
	var tagged, named, times []*column
	for _, column := range l.columns {
		if column.tag.isTime {
			tagged = append(tagged, column)
		}
		if !column.leaf.isTime || column.wrapping != plainValue || column.tag.isDate {
			continue
		}
		times = append(times, column)
		switch strings.ToLower(column.name) {
		case "time", "timestamp", "ts":
			named = append(named, column)
		}
	}
	switch {
	case plain && len(tagged) > 0:
		return fmt.Errorf("atsdb: %s: a plain table has no time", tagged[0].place)
	case plain:
	case len(tagged) > 1:
		return fmt.Errorf("atsdb: %s and %s are both tagged as the time", tagged[0].place, tagged[1].place)
	case len(tagged) == 1:
		return l.setTime(tagged[0])
	case len(named) > 1:
		return fmt.Errorf("atsdb: %s and %s could both be the time: tag one of them atsdb:\"time\"",
			named[0].place, named[1].place)
	case len(named) == 1:
		return l.setTime(named[0])
	case len(times) > 1:
		return fmt.Errorf("atsdb: %s and %s could both be the time: tag one of them atsdb:\"time\"",
			times[0].place, times[1].place)
	case len(times) == 1:
		return l.setTime(times[0])
	default:
		leaf, err := leafOf(timeType, tag{})
		if err != nil {
			return err
		}
		l.timeBeside = true
		l.time = &column{name: "time", place: fmt.Sprintf("the time of a %s", row), value: timeType, leaf: leaf}
		l.columns = append([]*column{l.time}, l.columns...)
	}
	return nil
}

func (l *layout) setTime(column *column) error {
	switch {
	case column.nullable():
		return fmt.Errorf("atsdb: %s: the time cannot be NULL", column.place)
	case !column.leaf.isTime && column.leaf.arrow.ID() != arrow.INT64:
		return fmt.Errorf("atsdb: %s: the time is a time.Time, or an int64 that counts a unit", column.place)
	}
	l.time = column
	return nil
}

// schema is the Arrow schema in which the columns are sent.
func (l *layout) schema() *arrow.Schema {
	fields := make([]arrow.Field, len(l.columns))
	for i, column := range l.columns {
		fields[i] = arrow.Field{Name: column.name, Type: column.leaf.sent(column.tag), Nullable: column.nullable()}
	}
	return arrow.NewSchema(fields, nil)
}
