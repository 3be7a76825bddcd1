package atsdb

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// TableOptions are the options of a table that the appender creates. They do not change an existing one.
type TableOptions struct {
	// Slice is the width of a slice: hour, day, week, month or year. The server's default is day.
	Slice string
	// Key is the list of the columns of the series key, separated by commas. If the time is among them, they are the
	// primary key. The default is the fields that are tagged as key.
	Key string
	// OnConflict is the reaction to a row whose key already exists: error, replace, keep or merge.
	OnConflict string
	// Retention is the age at which rows are dropped, for example "2 years".
	Retention string
	// Preload is the age up to which the server keeps rows decoded in memory, for example "8 hours".
	Preload string
	// Plain makes a table without a time.
	Plain bool
}

// tableName is the name of a table in SQL.
type tableName struct {
	// schema is empty if it is public.
	schema, name string
}

// String returns the name as SQL text.
func (t tableName) String() string {
	if t.schema == "" {
		return quoteName(t.name)
	}
	return quoteName(t.schema) + "." + quoteName(t.name)
}

// declaration is the statement that creates the table, if it does not exist.
func (l *layout) declaration(table tableName, options TableOptions) string {
	var columns, maps, keys []string
	for _, column := range l.columns {
		declared := quoteName(column.name) + " " + column.leaf.sql
		if !column.nullable() {
			declared += " NOT NULL"
		}
		columns = append(columns, declared)
		if column.tag.indexSQL != "" {
			maps = append(maps, column.name+":"+column.tag.indexSQL)
		}
		if column.tag.isKey {
			keys = append(keys, column.name)
		}
	}
	if options.Key == "" {
		options.Key = strings.Join(keys, ", ")
	}
	var with []string
	add := func(name, value string) {
		if value != "" {
			with = append(with, name+" = "+quoteText(value))
		}
	}
	if l.time == nil {
		add("time", "none")
	} else {
		add("time", l.time.name)
		if l.time.tag.hasUnit && !l.time.leaf.isTime {
			add("time_unit", l.time.tag.unit.String())
		}
	}
	add("slice", options.Slice)
	add("map", strings.Join(maps, ", "))
	add("key", options.Key)
	add("on_conflict", options.OnConflict)
	add("retention", options.Retention)
	add("preload", options.Preload)
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s) WITH (%s)",
		table, strings.Join(columns, ", "), strings.Join(with, ", "))
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
func quoteText(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }

// fitTo compares the columns with those of an existing table, and adopts the units of its times. It refuses a
// column whose values the table could not hold. It returns the columns that are NOT NULL and have no field.
func (l *layout) fitTo(table string, found *arrow.Schema) (lacking []string, err error) {
	fields := map[string]arrow.Field{}
	for _, field := range found.Fields() {
		fields[strings.ToLower(field.Name)] = field
	}
	for _, column := range l.columns {
		field, exists := fields[strings.ToLower(column.name)]
		if !exists {
			return nil, fmt.Errorf("atsdb: %s: table %s has no column %s: add it with ALTER TABLE %s ADD COLUMN %s %s",
				column.place, table, column.name, quoteName(table), quoteName(column.name), column.leaf.sql)
		}
		delete(fields, strings.ToLower(column.name))
		if err := column.fitTo(field); err != nil {
			return nil, fmt.Errorf("atsdb: %s: column %s of table %s %w", column.place, column.name, table, err)
		}
		column.refusesNull = !field.Nullable
	}
	for _, field := range found.Fields() {
		if _, isLeft := fields[strings.ToLower(field.Name)]; isLeft && !field.Nullable {
			lacking = append(lacking, field.Name)
		}
	}
	return lacking, nil
}

// checkFilled refuses columns that rows lack, unless the table gives them a value.
func (c *Client) checkFilled(ctx context.Context, table string, named tableName, lacking []string) error {
	if len(lacking) == 0 {
		return nil
	}
	filled, err := c.filled(ctx, named)
	if err != nil {
		return fmt.Errorf("atsdb: table %s: %w", table, err)
	}
	for _, name := range lacking {
		if !filled[strings.ToLower(name)] {
			return fmt.Errorf("atsdb: column %s of table %s is NOT NULL and has no default, and the struct has no field for it",
				name, table)
		}
	}
	return nil
}

func (c *column) fitTo(field arrow.Field) error {
	found, own := elementOf(field.Type, c.leaf.arrow)
	adopted := c.tag
	stamp, isStamp := found.(*arrow.TimestampType)
	ownStamp, isTime := own.(*arrow.TimestampType)
	if isStamp && isTime {
		if c.tag.hasUnit && stamp.Unit < ownStamp.Unit {
			return fmt.Errorf("counts %s, which is coarser than the tag's unit:%s", stamp.Unit, ownStamp.Unit)
		}
		adopted.unit, adopted.hasUnit = stamp.Unit, true
		return c.adopt(adopted)
	}
	digits, isDecimal := found.(*arrow.Decimal128Type)
	adoptsDigits := isDecimal && c.tag.decimal != nil && !c.tag.hasDigits
	if !adoptsDigits && !holds(found, own) {
		return fmt.Errorf("is %s, which does not hold every %s%s", nameOf(field.Type), c.leaf.sql, c.hint(field.Type))
	}
	if isDecimal {
		adopted.decimal = digits
		return c.adopt(adopted)
	}
	return nil
}

// adopt gives a column the type that another tag declares.
func (c *column) adopt(tag tag) (err error) {
	c.leaf, err = leafOf(c.value, tag)
	return err
}

// elementOf returns the types of the elements of two arrays, and other types unchanged.
func elementOf(one, other arrow.DataType) (arrow.DataType, arrow.DataType) {
	ones, isList := one.(*arrow.ListType)
	others, isOtherList := other.(*arrow.ListType)
	if isList && isOtherList {
		return ones.Elem(), others.Elem()
	}
	return one, other
}

// hint names the tag with which a field without one would fit a column of an existing table.
func (c *column) hint(found arrow.DataType) string {
	option := ""
	switch {
	case found.ID() == arrow.DECIMAL128 && c.value.Kind() == reflect.String:
		option = "decimal"
	case found.ID() == arrow.DATE32 && c.value == timeType:
		option = "date"
	case found.ID() == arrow.TIME64 && c.value == timeType:
		option = "timeofday"
	case found.ID() == arrow.INTERVAL_MONTH_DAY_NANO && c.value == durationType:
		option = "interval"
	case isText(found) && isUUID(c.value):
		option = "uuid"
	default:
		return ""
	}
	return fmt.Sprintf(": tag the field atsdb:%q", option)
}

// holds returns whether a column can store every value of another type unchanged.
func holds(column, value arrow.DataType) bool {
	if arrow.TypeEqual(column, value) || isText(column) && isText(value) || isBytes(column) && isBytes(value) {
		return true
	}
	if columnDigits, isDecimal := column.(*arrow.Decimal128Type); isDecimal {
		digits, isDecimal := value.(*arrow.Decimal128Type)
		return isDecimal && columnDigits.Scale >= digits.Scale &&
			columnDigits.Precision-columnDigits.Scale >= digits.Precision-digits.Scale
	}
	columnKind, columnBits := numberKind(column)
	valueKind, valueBits := numberKind(value)
	switch {
	case columnKind == noNumber || valueKind == noNumber:
		return false
	case columnKind == valueKind:
		return columnBits >= valueBits
	case columnKind == signed:
		return valueKind == unsigned && columnBits > valueBits
	case columnKind == float:
		// A float holds integers up to its 24 or 53 bits.
		return valueBits <= columnBits/2
	default:
		return false
	}
}

type numeric int

const (
	noNumber numeric = iota
	signed
	unsigned
	float
)

func numberKind(kind arrow.DataType) (numeric, int) {
	fixed, isFixed := kind.(arrow.FixedWidthDataType)
	switch {
	case arrow.IsSignedInteger(kind.ID()):
		return signed, fixed.BitWidth()
	case arrow.IsUnsignedInteger(kind.ID()):
		return unsigned, fixed.BitWidth()
	case isFixed && arrow.IsFloating(kind.ID()):
		return float, fixed.BitWidth()
	default:
		return noNumber, 0
	}
}

func isText(kind arrow.DataType) bool {
	switch kind.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	case arrow.DICTIONARY:
		return isText(kind.(*arrow.DictionaryType).ValueType)
	default:
		return false
	}
}

func isBytes(kind arrow.DataType) bool {
	switch kind.ID() {
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return true
	default:
		return false
	}
}

// nameOf is the name of a column's type in SQL.
func nameOf(kind arrow.DataType) string {
	if isText(kind) {
		return "TEXT"
	}
	if isBytes(kind) {
		return "BLOB"
	}
	if stamp, isStamp := kind.(*arrow.TimestampType); isStamp {
		return timestampSQL[stamp.Unit]
	}
	if digits, isDecimal := kind.(*arrow.Decimal128Type); isDecimal {
		return decimalSQL(digits)
	}
	if list, isList := kind.(*arrow.ListType); isList {
		return nameOf(list.Elem()) + "[]"
	}
	names := map[arrow.Type]string{
		arrow.BOOL: "BOOLEAN", arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INT", arrow.INT64: "BIGINT",
		arrow.UINT8: "TINYINT UNSIGNED", arrow.UINT16: "SMALLINT UNSIGNED", arrow.UINT32: "INT UNSIGNED",
		arrow.UINT64: "BIGINT UNSIGNED", arrow.FLOAT32: "REAL", arrow.FLOAT64: "DOUBLE", arrow.DATE32: "DATE",
		arrow.TIME64: "TIME", arrow.INTERVAL_MONTH_DAY_NANO: "INTERVAL",
	}
	if name, known := names[kind.ID()]; known {
		return name
	}
	return kind.String()
}
