package atsdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ErrClosed is the error of calls to an appender after Close.
var ErrClosed = errors.New("atsdb: the appender is closed")

// Error is an answer of the server that refuses a request.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Kind is the server's name of the kind of error: sql, not_found, invalid_value, limit and so on. It is empty if the
	// answer does not come from atsdb.
	Kind    string
	Message string
	// Hint says what to do next.
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

// isTransient returns whether the same request may succeed later. A request that the server refuses for its content is
// not repeated. Of the 4xx answers only those that do not concern the content are repeated: a body that stalled in
// transit, a server or proxy that asks the client to wait, and a commit that lost against other writers.
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

// errorOf reads the error from the body of an answer.
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

// BatchError reports that a batch was refused or abandoned. The rows of other batches are not affected.
type BatchError struct {
	Table string
	// ID is the batch's id. If the batch is sent again under this id, by [Client.AppendStream], it counts once even if the
	// server has already stored it.
	ID string
	// Rows is the number of rows in the batch.
	Rows int
	// Stream is the batch as an Arrow stream.
	Stream []byte
	// Err is the reason.
	Err error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("atsdb: a batch of %d rows for table %s (id %s) is not stored, or it is not known whether it is: %v",
		e.Rows, e.Table, e.ID, e.Err)
}

func (e *BatchError) Unwrap() error { return e.Err }
