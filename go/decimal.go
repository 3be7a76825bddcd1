package atsdb

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

const digitsMax = 38

// decimalDefault is what DECIMAL without digits is in SQL.
var decimalDefault = &arrow.Decimal128Type{Precision: digitsMax, Scale: 9}

// parseDigits reads the digits of a decimal column: 12.2 is DECIMAL(12, 2), and 12 is DECIMAL(12, 0).
func parseDigits(text string) (*arrow.Decimal128Type, error) {
	digits, behind, hasPoint := strings.Cut(text, ".")
	precision, err := strconv.ParseUint(digits, 10, 8)
	scale := uint64(0)
	if err == nil && hasPoint {
		scale, err = strconv.ParseUint(behind, 10, 8)
	}
	if err != nil || precision < 1 || precision > digitsMax || scale > precision {
		return nil, fmt.Errorf("decimal:%s: use decimal:12.2 for 12 digits, 2 of them after the point, and at most %d digits",
			text, digitsMax)
	}
	return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, nil
}

func decimalSQL(kind *arrow.Decimal128Type) string {
	return fmt.Sprintf("DECIMAL(%d, %d)", kind.Precision, kind.Scale)
}

var valuerType = reflect.TypeFor[driver.Valuer]()

func isValuer(value reflect.Type) bool { return reflect.PointerTo(value).Implements(valuerType) }

// decimalLeaf is the leaf of a decimal: text, or a type that gives text to databases, as pgtype.Numeric does.
func decimalLeaf(value reflect.Type, kind *arrow.Decimal128Type) (leaf, error) {
	found := leaf{sql: decimalSQL(kind), arrow: kind, bytes: 16}
	switch {
	case isValuer(value):
		found.isNull = ownNull(value)
		found.sink = func() sink { return newDecimalSink(kind, valuerText) }
	case value.Kind() == reflect.String:
		found.sink = func() sink { return newDecimalSink(kind, plainText) }
	default:
		return leaf{}, fmt.Errorf("%s is not a decimal: use a string, pgtype.Numeric, or a type whose driver.Valuer gives text",
			value)
	}
	return found, nil
}

// decimalSink parses a value when it is measured, which is always done just before it is put.
type decimalSink struct {
	builder  *array.Decimal128Builder
	kind     *arrow.Decimal128Type
	text     func(reflect.Value) (string, error)
	measured decimal128.Num
}

func newDecimalSink(kind *arrow.Decimal128Type, text func(reflect.Value) (string, error)) sink {
	return &decimalSink{builder: array.NewDecimal128Builder(allocator, kind), kind: kind, text: text}
}

func plainText(value reflect.Value) (string, error) { return value.String(), nil }

func valuerText(value reflect.Value) (string, error) {
	given, err := value.Addr().Interface().(driver.Valuer).Value()
	if err != nil {
		return "", err
	}
	switch given := given.(type) {
	case string:
		return given, nil
	case []byte:
		return string(given), nil
	default:
		return "", fmt.Errorf("its driver.Valuer gives %T and not text", given)
	}
}

func (s *decimalSink) measure(value reflect.Value) (int, error) {
	text, err := s.text(value)
	if err != nil {
		return 0, err
	}
	s.measured, err = parseDecimal(text, s.kind)
	return 16, err
}

func (s *decimalSink) put(reflect.Value) { s.builder.Append(s.measured) }
func (s *decimalSink) putNull()          { s.builder.AppendNull() }
func (s *decimalSink) take() arrow.Array { return s.builder.NewArray() }

var errNoNumber = errors.New("it is not a number")

// parseDecimal reads digits with a sign, a point and an exponent, all of which may be missing. A value with more digits
// than the type has is refused, not rounded.
func parseDecimal(text string, kind *arrow.Decimal128Type) (decimal128.Num, error) {
	found, err := scaledDecimal(text, kind)
	if err != nil {
		return decimal128.Num{}, fmt.Errorf("the decimal %s does not fit %s: %w", short(text), decimalSQL(kind), err)
	}
	return found, nil
}

func scaledDecimal(text string, kind *arrow.Decimal128Type) (decimal128.Num, error) {
	isNegative := strings.HasPrefix(text, "-")
	if isNegative || strings.HasPrefix(text, "+") {
		text = text[1:]
	}
	exponent := 0
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		var err error
		// Sixteen bits are more than any database's decimals have.
		given, err := strconv.ParseInt(text[at+1:], 10, 17)
		if err != nil {
			return decimal128.Num{}, errNoNumber
		}
		text, exponent = text[:at], int(given)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	count := len(whole) + len(fraction)
	digit := func(i int) byte {
		if i < len(whole) {
			return whole[i] - '0'
		}
		return fraction[i-len(whole)] - '0'
	}
	isZero := true
	for i := range count {
		if digit(i) > 9 {
			return decimal128.Num{}, errNoNumber
		}
		isZero = isZero && digit(i) == 0
	}
	if count == 0 {
		return decimal128.Num{}, errNoNumber
	}
	if isZero {
		return decimal128.Num{}, nil
	}
	// The digits up to the last one that the type has after the point; zeros where there are none.
	wanted := len(whole) + exponent + int(kind.Scale)
	for i := max(wanted, 0); i < count; i++ {
		if digit(i) != 0 {
			return decimal128.Num{}, fmt.Errorf("it has more than %d digits after the point", kind.Scale)
		}
	}
	var high, low uint64
	used := int32(0)
	for i := range wanted {
		next := byte(0)
		if i < count {
			next = digit(i)
		}
		if used == 0 && next == 0 {
			continue
		}
		if used++; used > kind.Precision {
			return decimal128.Num{}, fmt.Errorf("it has more than %d digits before the point", kind.Precision-kind.Scale)
		}
		carry, product := bits.Mul64(low, 10)
		sum, over := bits.Add64(product, uint64(next), 0)
		high, low = high*10+carry+over, sum
	}
	found := decimal128.New(int64(high), low)
	if isNegative {
		found = found.Negate()
	}
	return found, nil
}
