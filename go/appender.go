package atsdb

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Appender adds rows of a struct to a table. It collects them into batches, which one goroutine sends in order. It may
// be used by several goroutines, and must be closed.
//
// A row that Append has accepted is stored once, as long as the program runs and the server accepts the batch. Only
// Flush, Close and Send guarantee that rows are durable.
type Appender[T any] struct {
	client  *Client
	table   string
	options Options
	layout  *layout
	prefix  string

	// wake makes the sender check for work.
	wake chan struct{}
	// cancel ends the attempts of the sender; finished is closed at its end.
	cancel   context.CancelFunc
	sending  context.Context
	finished chan struct{}

	mu      sync.Mutex
	current *collector[T]
	// deadline is the time at which the current batch is sent even if it is not full.
	deadline time.Time
	queue    []*batch
	// changed is closed, and replaced, when room is free again, a batch is done or the appender fails or closes.
	changed chan struct{}
	// queuedBytes is the size of the batches that are not done, without the current one.
	queuedBytes int
	// sealed and done count batches.
	sealed, done uint64
	closing      bool
	failure      error
	// abandonedRows counts the rows of batches that were not done when the context of Close ended.
	abandonedRows int64
	stats         Stats
}

// Stats are the figures of an [Appender] since it was created.
type Stats struct {
	// Rows is the number of rows that Append has accepted. Rows that Send has sent are not counted.
	Rows int64
	// StoredRows is the number of rows that are durable.
	StoredRows int64
	// FailedRows is the number of rows in refused batches.
	FailedRows int64
	// Batches is the number of stored batches.
	Batches int64
	// Duplicates is the number of batches whose first answer was lost: the server had already stored them when they were
	// sent again.
	Duplicates int64
	// WaitingBytes is the size of the rows that are not stored yet.
	WaitingBytes int
}

// batch is a batch that waits to be sent.
type batch struct {
	id    string
	rows  arrow.RecordBatch
	bytes int
}

// NewAppender returns an appender for a table, which is created from the struct if it does not exist. An existing table
// must be able to hold the values of the struct. The name s.t means the table t of the schema s, if there is such a
// schema.
func NewAppender[T any](ctx context.Context, client *Client, table string, options Options) (*Appender[T], error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	layout, err := layoutOf(reflect.TypeFor[T](), options.Table.Plain)
	if err != nil {
		return nil, err
	}
	named, err := client.named(ctx, table)
	if err != nil {
		return nil, fmt.Errorf("atsdb: table %s: %w", table, err)
	}
	if err := client.declare(ctx, layout.declaration(named, options.Table)); err != nil {
		return nil, fmt.Errorf("atsdb: table %s: %w", table, err)
	}
	found, err := client.schema(ctx, named)
	if err != nil {
		return nil, fmt.Errorf("atsdb: table %s: %w", table, err)
	}
	lacking, err := layout.fitTo(table, found)
	if err != nil {
		return nil, err
	}
	if err := client.checkFilled(ctx, table, named, lacking); err != nil {
		return nil, err
	}
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("atsdb: cannot generate ids for the batches: %w", err)
	}
	a := &Appender[T]{
		client: client, table: table, options: options, layout: layout, prefix: hex.EncodeToString(random[:]),
		wake: make(chan struct{}, 1), finished: make(chan struct{}), changed: make(chan struct{}),
		current: newCollector[T](layout),
	}
	// The context of a call bounds only that call. Accepted rows are sent until Close.
	a.sending, a.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go a.send()
	return a, nil
}

// Append adds a row. It returns when the row is collected, and waits only if MemoryBytes of rows wait to be sent. After
// an error the row is not collected.
func (a *Appender[T]) Append(ctx context.Context, row T) error {
	if a.layout.timeBeside {
		return fmt.Errorf("atsdb: %s has no time: use AppendAt, or give it a field of type time.Time", reflect.TypeFor[T]())
	}
	return a.append(ctx, time.Time{}, row)
}

// AppendAt adds a row of a struct that has no time.
func (a *Appender[T]) AppendAt(ctx context.Context, at time.Time, row T) error {
	if !a.layout.timeBeside {
		return fmt.Errorf("atsdb: %s has its time in a field, or the table has no time: use Append", reflect.TypeFor[T]())
	}
	return a.append(ctx, at, row)
}

func (a *Appender[T]) append(ctx context.Context, at time.Time, row T) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for {
		if err := a.refusal(ctx); err != nil {
			return err
		}
		bytes, err := a.current.hold(at, row)
		if err != nil {
			return err
		}
		if bytes > batchBytesMax || bytes > a.options.MemoryBytes {
			return fmt.Errorf("atsdb: a row for table %s has %d bytes, which is more than a batch may have", a.table, bytes)
		}
		if a.current.rows > 0 && a.current.bytes+bytes > a.options.BatchBytes {
			a.seal()
			continue
		}
		if a.queuedBytes+a.current.bytes+bytes <= a.options.MemoryBytes {
			a.current.add(bytes)
			break
		}
		if err := a.wait(ctx); err != nil {
			return err
		}
	}
	a.stats.Rows++
	if a.current.rows >= a.options.BatchRows {
		a.seal()
	} else if a.current.rows == 1 && a.options.FlushTime > 0 {
		a.deadline = time.Now().Add(a.options.FlushTime)
		a.wakeSender()
	}
	return nil
}

// refusal returns the reason why no row is accepted.
func (a *Appender[T]) refusal(ctx context.Context) error {
	switch {
	case a.failure != nil:
		return a.failure
	case a.closing:
		return ErrClosed
	case ctx.Err() != nil:
		return fmt.Errorf("atsdb: the row was not accepted: %w", context.Cause(ctx))
	default:
		return nil
	}
}

// wait waits for a change. The lock is held before and afterwards.
func (a *Appender[T]) wait(ctx context.Context) error {
	changed := a.changed
	a.mu.Unlock()
	defer a.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("atsdb: the server has not accepted the rows yet: %w", context.Cause(ctx))
	}
}

// announce wakes the waiting goroutines after a change.
func (a *Appender[T]) announce() {
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *Appender[T]) wakeSender() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// seal puts the current batch into the queue.
func (a *Appender[T]) seal() {
	if a.current.rows == 0 {
		return
	}
	a.sealed++
	bytes := a.current.bytes
	a.queue = append(a.queue, &batch{id: fmt.Sprintf("%s-%d", a.prefix, a.sealed), rows: a.current.take(), bytes: bytes})
	a.queuedBytes += bytes
	a.wakeSender()
}

// Flush sends the collected rows, and returns when all rows that were appended before are durable, or were handed to
// OnFailure. If the context ends first, Flush returns and the rows are still sent.
func (a *Appender[T]) Flush(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seal()
	for target := a.sealed; a.done < target; {
		if err := a.wait(ctx); err != nil {
			return err
		}
	}
	return a.failure
}

// Close sends the collected rows, waits until they are durable and ends the appender. If the context ends first, the
// attempts end, too: batches that are then not known to be stored are handed to OnFailure, and the error says so.
func (a *Appender[T]) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closing = true
	a.wakeSender()
	a.announce()
	a.mu.Unlock()
	var ended error
	select {
	case <-a.finished:
	case <-ctx.Done():
		a.cancel()
		<-a.finished
		ended = context.Cause(ctx)
	}
	a.cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	if ended == nil || a.abandonedRows == 0 {
		return a.failure
	}
	return errors.Join(fmt.Errorf("atsdb: %d rows for table %s are not known to be stored: %w",
		a.abandonedRows, a.table, ended), a.failure)
}

// Stats returns the figures since the appender was created.
func (a *Appender[T]) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	stats := a.stats
	stats.WaitingBytes = a.queuedBytes + a.current.bytes
	return stats
}

// Send stores rows as one batch under an id that the caller chooses (up to 200 bytes), and returns when they are
// durable. A batch with the same id counts once, even if another process sent it before: then Duplicate is true. It
// does not wait for the rows that Append has collected.
func (a *Appender[T]) Send(ctx context.Context, id string, rows []T) (Appended, error) {
	if id == "" {
		return Appended{}, errors.New("atsdb: the batch has no id")
	}
	if a.layout.timeBeside {
		return Appended{}, fmt.Errorf("atsdb: %s has no time: give it a field of type time.Time", reflect.TypeFor[T]())
	}
	collected := newCollector[T](a.layout)
	for i, row := range rows {
		bytes, err := collected.hold(time.Time{}, row)
		if err != nil {
			return Appended{}, fmt.Errorf("row %d: %w", i, err)
		}
		collected.add(bytes)
		if collected.bytes > streamBytesMax {
			return Appended{}, fmt.Errorf("atsdb: the batch is too large: a server accepts at most %d bytes", streamBytesMax)
		}
	}
	stream, err := encode(collected.take())
	if err != nil {
		return Appended{}, err
	}
	return a.client.AppendStream(ctx, a.table, id, stream)
}
