package atsdb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	waitFirst = 100 * time.Millisecond
	waitMax   = 15 * time.Second
	// retryAfterMax is the longest wait that a server may ask for.
	retryAfterMax = 5 * time.Minute
)

// lostError means a request without an answer: it is unknown whether the server executed it.
type lostError struct{ err error }

func (e *lostError) Error() string { return "atsdb: no answer from the server: " + e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// patienceError is an answer with the header Retry-After.
type patienceError struct {
	refused *Error
	wait    time.Duration
}

func (e *patienceError) Error() string { return e.refused.Error() }
func (e *patienceError) Unwrap() error { return e.refused }

// retry repeats attempts that may succeed later, for at most the given time. Each attempt must be safe to repeat. With
// a time of 0 there is one attempt.
func (c *Client) retry(ctx context.Context, retryTime time.Duration, attempt func(context.Context) error) error {
	begin := time.Now()
	for count := 0; ; count++ {
		err := attempt(ctx)
		if err == nil || !isTransient(err) {
			return err
		}
		wait := waitBefore(count, err)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%w; the last attempt: %w", context.Cause(ctx), err)
		case retryTime == 0:
			return err
		case time.Since(begin)+wait > retryTime:
			return fmt.Errorf("atsdb: given up after %s and %d attempts: %w",
				time.Since(begin).Round(time.Millisecond), count+1, err)
		}
		if c.options.OnRetry != nil {
			c.options.OnRetry(err, wait)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w; the last attempt: %w", context.Cause(ctx), err)
		}
	}
}

func isTransient(err error) bool {
	var (
		refused     *Error
		lost        *lostError
		certificate *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &refused):
		return refused.isTransient()
	case errors.As(err, &lost):
		return !errors.As(err, &certificate)
	default:
		return false
	}
}

// waitBefore is the time before the next attempt: twice the last one, at least as long as the server asks for, and a
// bit more at random, so that many clients do not retry at the same time.
func waitBefore(count int, err error) time.Duration {
	wait := waitMax
	if count < 10 {
		wait = min(waitFirst<<count, waitMax)
	}
	var patience *patienceError
	if errors.As(err, &patience) {
		wait = max(wait, patience.wait)
	}
	return wait + rand.N(wait/4+1)
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return min(max(time.Duration(seconds)*time.Second, 0), retryAfterMax)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), retryAfterMax)
	}
	return 0
}
