package atsdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ErrClosed is what an appender answers after Close.
var ErrClosed = errors.New("atsdb: the appender is closed")

// Error is an answer of the server that refuses a request.
type Error struct {
	// Status is the status of HTTP.
	Status int
	// Kind is the server's name of the kind of error: sql, not_found, invalid_value, limit and so on. It is empty if the
	// answer does not come from atsdb.
	Kind    string
	Message string
	// Hint is what may help.
	Hint string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("atsdb: the server answers %d", e.Status)
	if e.Kind != "" {
		text += " (" + e.Kind + ")"
	}
	text += ": " + e.Message
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// isTransient is whether the same request may succeed later. What the server refuses for its content is sent once: of
// 4xx only those are repeated that say nothing about the content, which are a body that stalled on its way, a server
// or proxy that asks for patience, and a commit that gave way to other writers.
func (e *Error) isTransient() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	case http.StatusConflict:
		return e.Kind == "conflict"
	default:
		return false
	}
}

// errorOf reads the body of an answer that is an error.
func errorOf(status int, body []byte) *Error {
	var found struct{ Kind, Message, Hint string }
	if err := json.Unmarshal(body, &found); err == nil && found.Message != "" {
		return &Error{status, found.Kind, found.Message, found.Hint}
	}
	text := strings.TrimSpace(string(body))
	if text == "" {
		text = http.StatusText(status)
	}
	const bytesMax = 500
	if len(text) > bytesMax {
		text = strings.ToValidUTF8(text[:bytesMax], "") + "..."
	}
	return &Error{Status: status, Message: text}
}

// BatchError says that a batch was refused, or given up. The rows of other batches are not affected.
type BatchError struct {
	Table string
	// ID is the batch's id: sent again under this id, by [Client.AppendStream], it counts once even if the server has
	// stored it.
	ID string
	// Rows is how many rows the batch has.
	Rows int
	// Stream is the batch as an Arrow stream.
	Stream []byte
	// Err is the reason.
	Err error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("atsdb: a batch of %d rows for table %s (id %s) is not stored, or not known to be: %v",
		e.Rows, e.Table, e.ID, e.Err)
}

func (e *BatchError) Unwrap() error { return e.Err }
