package atsdb

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// send sends batches, one after another, until the appender is closed and all are done. A batch is sealed early if its
// rows have waited long enough; while an earlier one is being sent, it grows instead.
func (a *Appender[T]) send() {
	defer close(a.finished)
	for {
		next, wait, ended := a.next()
		switch {
		case ended:
			return
		case next != nil:
			a.settle(next)
		case wait > 0:
			timer := time.NewTimer(wait)
			select {
			case <-a.wake:
				timer.Stop()
			case <-timer.C:
			}
		default:
			<-a.wake
		}
	}
}

// next returns the next batch to send, or how long to wait for one; 0 means until the sender is woken.
func (a *Appender[T]) next() (next *batch, wait time.Duration, ended bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 && a.current.rows > 0 {
		wait = time.Until(a.deadline)
		switch {
		case a.closing || a.options.FlushTime > 0 && wait <= 0:
			a.seal()
		case a.options.FlushTime < 0:
			wait = 0
		}
	}
	if len(a.queue) > 0 {
		next = a.queue[0]
		a.queue[0] = nil
		a.queue = a.queue[1:]
		return next, 0, false
	}
	return nil, wait, a.closing
}

// settle sends a batch and counts it as stored or failed.
func (a *Appender[T]) settle(next *batch) {
	rowCount := next.rows.NumRows()
	stream, err := encode(next.rows)
	next.rows = nil
	var answer Appended
	if err == nil {
		answer, err = a.client.AppendStream(a.sending, a.table, next.id, stream)
	}
	if err == nil && !answer.Duplicate && answer.Rows != rowCount {
		err = fmt.Errorf("atsdb: the server counts %d rows", answer.Rows)
	}
	var failed *BatchError
	// An answer that arrives although Close has given up counts.
	isAbandoned := errors.Is(err, context.Canceled) && a.sending.Err() != nil
	if err != nil {
		if isAbandoned {
			err = fmt.Errorf("%w: %w", ErrClosed, err)
		}
		failed = &BatchError{Table: a.table, ID: next.id, Rows: int(rowCount), Stream: stream, Err: err}
		if a.options.OnFailure != nil {
			a.options.OnFailure(failed)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done++
	a.queuedBytes -= next.bytes
	if failed != nil {
		a.stats.FailedRows += rowCount
		if isAbandoned {
			a.abandonedRows += rowCount
		}
		switch {
		case a.options.OnFailure != nil:
		case a.failure == nil:
			a.failure = failed
		default:
			// The batches after a refused one are sent, too: the caller may want the rows of each one that fails.
			a.failure = errors.Join(a.failure, failed)
		}
	} else {
		a.stats.Batches++
		a.stats.StoredRows += rowCount
		if answer.Duplicate {
			a.stats.Duplicates++
		}
	}
	a.announce()
}
