package atsdb

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// collector turns rows into record batches. Each value is read at its offset in the current row, so that a
// field is looked up once, not for each row.
type collector[T any] struct {
	layout *layout
	schema *arrow.Schema
	row    T
	at     time.Time
	values []reflect.Value
	sinks  []sink
	rows   int
	bytes  int
}

func newCollector[T any](layout *layout) *collector[T] {
	c := &collector[T]{layout: layout, schema: layout.schema()}
	row := reflect.ValueOf(&c.row).Elem()
	for _, column := range layout.columns {
		value := reflect.ValueOf(&c.at).Elem()
		if column.index != nil {
			value = row.FieldByIndex(column.index)
		}
		c.values = append(c.values, value)
		c.sinks = append(c.sinks, column.leaf.sink())
	}
	return c
}

// hold makes a row the current one, and returns its size in bytes. A row that cannot be stored is refused.
func (c *collector[T]) hold(at time.Time, row T) (int, error) {
	c.at, c.row = at, row
	bytes := 0
	for i, column := range c.layout.columns {
		value, isSet := c.value(i)
		if !isSet {
			if column.refusesNull {
				return 0, fmt.Errorf("atsdb: %s: column %s is NOT NULL", column.place, column.name)
			}
			bytes += column.leaf.bytes + 1
			continue
		}
		if column == c.layout.time && column.leaf.isTime && timeOf(value).IsZero() {
			return 0, fmt.Errorf("atsdb: %s: the time is not set", column.place)
		}
		more, err := c.sinks[i].measure(value)
		if err != nil {
			return 0, fmt.Errorf("atsdb: %s: %w", column.place, err)
		}
		bytes += more + 1
	}
	return bytes, nil
}

// value is the current row's value in a column, or false if it is NULL.
func (c *collector[T]) value(i int) (reflect.Value, bool) {
	column := c.layout.columns[i]
	value, isSet := column.wrapping.unwrap(c.values[i])
	return value, isSet && (column.leaf.isNull == nil || !column.leaf.isNull(value))
}

// add adds the current row, which takes that many bytes.
func (c *collector[T]) add(bytes int) {
	for i := range c.layout.columns {
		if value, isSet := c.value(i); isSet {
			c.sinks[i].put(value)
		} else {
			c.sinks[i].putNull()
		}
	}
	c.rows++
	c.bytes += bytes
	// The values that the row points to are not kept.
	var none T
	c.row = none
}

// take returns the rows since the last call.
func (c *collector[T]) take() arrow.RecordBatch {
	columns := make([]arrow.Array, len(c.sinks))
	for i, sink := range c.sinks {
		columns[i] = sink.take()
	}
	batch := array.NewRecordBatch(c.schema, columns, int64(c.rows))
	c.rows, c.bytes = 0, 0
	return batch
}

// encode writes a batch as an Arrow stream.
func encode(batch arrow.RecordBatch) ([]byte, error) {
	var stream bytes.Buffer
	writer := ipc.NewWriter(&stream, ipc.WithSchema(batch.Schema()), ipc.WithAllocator(allocator))
	if err := errors.Join(writer.Write(batch), writer.Close()); err != nil {
		return nil, fmt.Errorf("atsdb: a batch cannot be written as an Arrow stream: %w", err)
	}
	return stream.Bytes(), nil
}
