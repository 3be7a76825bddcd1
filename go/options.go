package atsdb

import (
	"fmt"
	"time"
)

const (
	batchRowsDefault   = 65_536
	batchBytesDefault  = 8 << 20
	batchBytesMax      = 32 << 20
	memoryBytesDefault = 64 << 20
	flushTimeDefault   = time.Second
)

// Options are the options of an [Appender]. The zero value has the defaults.
type Options struct {
	// Table has the options with which the table is created if it does not exist.
	Table TableOptions
	// BatchRows and BatchBytes are the sizes at which a batch is sent: 65,536 rows or 8 MiB by default, and at most 32
	// MiB.
	BatchRows  int
	BatchBytes int
	// FlushTime is the longest time that a row waits for others before its batch is sent: a second by default. A negative
	// time means no limit.
	FlushTime time.Duration
	// MemoryBytes is the number of bytes of rows that may wait, including those that are being sent: 64 MiB by default,
	// and at least twice BatchBytes. Append waits for room.
	MemoryBytes int
	// OnFailure is called with each batch that the server refuses, from the goroutine that sends: it must not call the
	// appender. Without it, such a batch stops the appender, and all later calls return its error.
	OnFailure func(*BatchError)
}

func (o Options) withDefaults() (Options, error) {
	if o.BatchRows <= 0 {
		o.BatchRows = batchRowsDefault
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = batchBytesDefault
	}
	if o.BatchBytes > batchBytesMax {
		return o, fmt.Errorf("atsdb: BatchBytes is %d: a batch has at most %d bytes", o.BatchBytes, batchBytesMax)
	}
	if o.MemoryBytes <= 0 {
		o.MemoryBytes = max(memoryBytesDefault, 2*o.BatchBytes)
	}
	if o.MemoryBytes < 2*o.BatchBytes {
		return o, fmt.Errorf("atsdb: MemoryBytes is %d: it must be at least twice BatchBytes, %d", o.MemoryBytes, 2*o.BatchBytes)
	}
	if o.FlushTime == 0 {
		o.FlushTime = flushTimeDefault
	}
	return o, nil
}
