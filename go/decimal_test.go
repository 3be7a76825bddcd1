package atsdb

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/jackc/pgx/v5/pgtype"
)

// price is a decimal like those of well-known packages: a struct that gives its text to databases.
type price struct {
	cents int64
	cause error
}

func (p price) Value() (driver.Value, error) {
	return fmt.Sprintf("%d.%02d", p.cents/100, p.cents%100), p.cause
}

// amount gives text as bytes, by a method of its pointer.
type amount [1]byte

func (a *amount) Value() (driver.Value, error) { return a[:], nil }

// noText is one that gives a float.
type noText struct{}

func (noText) Value() (driver.Value, error) { return 1.5, nil }

func digits(precision, scale int32) *arrow.Decimal128Type {
	return &arrow.Decimal128Type{Precision: precision, Scale: scale}
}

func TestDecimalsAreReadFromText(t *testing.T) {
	nines := strings.Repeat("9", 38)
	for _, c := range []struct {
		text string
		kind *arrow.Decimal128Type
		want string
	}{
		{"0", digits(1, 0), "0"}, {"-0.00", digits(1, 0), "0"}, {"1.5", digits(12, 2), "150"}, {"+1.50", digits(12, 2), "150"},
		{"-.05", digits(12, 2), "-5"}, {"5.", digits(12, 2), "500"}, {"1.500000", digits(12, 2), "150"},
		{"9999999999.99", digits(12, 2), "999999999999"}, {"000000000000012.00", digits(12, 2), "1200"},
		{"1e3", digits(12, 2), "100000"}, {"125E-2", digits(12, 2), "125"}, {"12500e-3", digits(12, 1), "125"},
		{"0e65535", digits(1, 0), "0"}, {"0.00000001e8", digits(1, 0), "1"},
		{nines, digits(38, 0), nines}, {"-" + nines, digits(38, 0), "-" + nines}, {"0." + nines, digits(38, 38), nines},
		{"18446744073709551616", digits(38, 0), "18446744073709551616"}, {"-1.8446744073709551616", digits(38, 19), "-18446744073709551616"},
	} {
		got, err := parseDecimal(c.text, c.kind)
		if err != nil || got.BigInt().String() != c.want {
			t.Errorf("%s in %s: %s %v, wanted %s", c.text, c.kind, got.BigInt(), err, c.want)
		}
	}
	for _, c := range []struct {
		text string
		kind *arrow.Decimal128Type
		want string
	}{
		{"1.005", digits(12, 2), `the decimal "1.005" does not fit DECIMAL(12, 2): it has more than 2 digits after the point`},
		{"1e-3", digits(12, 2), "more than 2 digits after the point"}, {"10000000000", digits(12, 2), "more than 10 digits before"},
		{"1e10", digits(12, 2), "more than 10 digits before"}, {"1e65535", digits(38, 0), "more than 38 digits before"},
		{"1e-65535", digits(38, 38), "more than 38 digits after"}, {"1" + nines, digits(38, 0), "more than 38 digits"},
		{"1e99999999999999999999", digits(38, 0), "not a number"}, {"", digits(38, 0), "not a number"},
		{".", digits(38, 0), "not a number"}, {"-", digits(38, 0), "not a number"}, {"--1", digits(38, 0), "not a number"},
		{"1,5", digits(38, 2), "not a number"}, {" 1", digits(38, 2), "not a number"}, {"1.5.2", digits(38, 2), "not a number"},
		{"NaN", digits(38, 2), "not a number"}, {"Infinity", digits(38, 2), "not a number"}, {"0x10", digits(38, 2), "not a number"},
		{"1e", digits(38, 2), "not a number"}, {"1_000", digits(38, 2), "not a number"}, {"١", digits(38, 2), "not a number"},
	} {
		if got, err := parseDecimal(c.text, c.kind); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %s: %v %v, wanted: %s", c.text, c.kind, got, err, c.want)
		}
	}
}

// Against math/big: a decimal is read if, and only if, it is a whole number of the last digit and below the limit.
func TestDecimalsAreThoseOfMathBig(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ten := func(power int32) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(power)), nil) }
	fitting := 0
	for range 20_000 {
		precision := 1 + random.Int32N(digitsMax)
		kind := digits(precision, random.Int32N(precision+1))
		text := []string{"", "-", "+"}[random.IntN(3)]
		text += strings.Repeat("0", random.IntN(2))
		for range 1 + random.IntN(int(precision)) {
			text += string('0' + rune(random.IntN(10)))
		}
		if random.IntN(2) == 0 {
			at := 1 + random.IntN(len(text))
			if text[at-1] == '-' || text[at-1] == '+' {
				text += "."
			} else {
				text = text[:at] + "." + text[at:]
			}
		}
		if random.IntN(3) == 0 {
			text += fmt.Sprintf("e%d", random.IntN(41)-20)
		}
		exact, isNumber := new(big.Rat).SetString(text)
		if !isNumber {
			t.Fatal(text)
		}
		scaled := exact.Mul(exact, new(big.Rat).SetInt(ten(kind.Scale)))
		fits := scaled.IsInt() && scaled.Num().CmpAbs(ten(precision)) < 0
		got, err := parseDecimal(text, kind)
		if fits != (err == nil) || fits && got.BigInt().Cmp(scaled.Num()) != 0 {
			t.Fatalf("%s in %s: %s %v, wanted %s", text, kind, got.BigInt(), err, scaled)
		}
		if fits {
			fitting++
		}
	}
	if fitting < 2_000 || fitting > 18_000 {
		t.Error("the test has lost its balance:", fitting)
	}
}

type typed struct {
	Time    time.Time
	Price   string         `atsdb:"decimal:12.2"`
	Struct  price          `atsdb:"decimal:12.2"`
	Bytes   amount         `atsdb:"decimal:1"`
	Numeric pgtype.Numeric `atsdb:"decimal:38.9"`
	Null    sql.NullString `atsdb:"decimal"`
	Pointer *price         `atsdb:"decimal"`
	Opens   time.Time      `atsdb:"timeofday"`
	Closes  pgtype.Time
	Often   *pgtype.Time
	Every   time.Duration `atsdb:"interval"`
	Paused  pgtype.Interval
}

func TestDecimalsTimesOfDayAndIntervalsAreSent(t *testing.T) {
	zone := time.FixedZone("east", 3*60*60)
	batch := collect(t,
		typed{
			Time: time.Unix(1, 0), Price: "-12.5", Struct: price{cents: 1999}, Bytes: amount{'7'},
			Numeric: pgtype.Numeric{Int: big.NewInt(-15), Exp: -1, Valid: true}, Null: sql.NullString{String: "1e-9", Valid: true},
			Pointer: &price{cents: 5}, Opens: time.Date(2024, 3, 1, 1, 2, 3, 4_999, zone),
			Closes: pgtype.Time{Microseconds: 86_399_999_999, Valid: true}, Often: &pgtype.Time{},
			Every: -90*time.Second - 1, Paused: pgtype.Interval{Months: -1, Days: 2, Microseconds: 3, Valid: true},
		},
		typed{Time: time.Unix(2, 0), Price: "0", Bytes: amount{'0'}},
	)
	wanted := map[string][2]string{
		"price": {"-12.5", "0"}, "struct": {"19.99", "0"}, "bytes": {"7", "0"}, "numeric": {"-1.5", "(null)"},
		"null": {"1e-09", "(null)"}, "pointer": {"0.05", "(null)"},
		"opens": {"01:02:03.000004", "00:00:00.000000"}, "closes": {"23:59:59.999999", "(null)"}, "often": {"(null)", "(null)"},
	}
	for i, field := range batch.Schema().Fields() {
		want, isWanted := wanted[field.Name]
		for row, text := range want {
			if got := batch.Column(i).ValueStr(row); isWanted && got != text {
				t.Errorf("%s, row %d: %s, wanted %s", field.Name, row, got, text)
			}
		}
		if isNullable := want[1] == "(null)"; isWanted && field.Nullable != isNullable {
			t.Errorf("%s is nullable: %v", field.Name, field.Nullable)
		}
	}
	every, paused := batch.Column(10).(*array.MonthDayNanoInterval), batch.Column(11).(*array.MonthDayNanoInterval)
	if got := every.Value(0); got != (arrow.MonthDayNanoInterval{Nanoseconds: -90_000_000_001}) {
		t.Error(got)
	}
	if got := paused.Value(0); got != (arrow.MonthDayNanoInterval{Months: -1, Days: 2, Nanoseconds: 3000}) || !paused.IsNull(1) {
		t.Error(got, paused.IsNull(1))
	}
}

func TestWrongDecimalsTimesOfDayAndIntervalsAreRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*typed)
		want   string
	}{
		{func(r *typed) { r.Price = "1.999" }, `field typed.Price (string): the decimal "1.999" does not fit DECIMAL(12, 2)`},
		{func(r *typed) { r.Price = "" }, `the decimal "" does not fit DECIMAL(12, 2): it is not a number`},
		{func(r *typed) { r.Struct.cause = sql.ErrNoRows }, sql.ErrNoRows.Error()},
		{func(r *typed) { r.Numeric = pgtype.Numeric{NaN: true, Valid: true} }, `the decimal "NaN"`},
		{func(r *typed) { r.Closes = pgtype.Time{Microseconds: 86_400_000_000, Valid: true} }, "0 to 86399999999 microseconds"},
		{func(r *typed) { r.Closes = pgtype.Time{Microseconds: -1, Valid: true} }, "not -1"},
		{func(r *typed) { r.Paused = pgtype.Interval{Microseconds: math.MaxInt64 / 999, Valid: true} }, "use its days"},
		{func(r *typed) { r.Paused = pgtype.Interval{Microseconds: math.MinInt64 / 999, Valid: true} }, "use its days"},
	} {
		row := typed{Time: time.Unix(1, 0), Price: "1", Bytes: amount{'1'}}
		c.change(&row)
		found := newLayout[typed](t)
		if _, err := newCollector[typed](found).hold(time.Time{}, row); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, wanted: %s", err, c.want)
		}
	}
	type row struct {
		Time time.Time
		None noText `atsdb:"decimal"`
	}
	_, err := newCollector[row](newLayout[row](t)).hold(time.Time{}, row{Time: time.Unix(1, 0)})
	if err == nil || !strings.Contains(err.Error(), "gives float64 and not text") {
		t.Error(err)
	}
}
