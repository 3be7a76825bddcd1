package atsdb

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// fakeServer answers like a server, but without a network, so that tests can run on synctest's clock.
type fakeServer struct {
	t      testing.TB
	schema *arrow.Schema

	mu         sync.Mutex
	statements []string
	requests   []*http.Request
	ids        []string
	rows       map[string]int64
	// before may answer an append instead of the server, and after instead of its answer. Both get the number of
	// the append, from 0.
	before, after func(count int, request *http.Request) (*http.Response, error)
}

func newFakeServer[T any](t testing.TB) *fakeServer {
	t.Helper()
	found, err := layoutOf(reflect.TypeFor[T](), false)
	if err != nil {
		t.Fatal(err)
	}
	return &fakeServer{t: t, schema: found.schema(), rows: map[string]int64{}}
}

func (s *fakeServer) client(options ClientOptions) *Client {
	s.t.Helper()
	options.HTTP = &http.Client{Transport: s}
	client, err := NewClient("http://fake:8086", options)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

func answer(status int, body string, header ...string) *http.Response {
	found := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	for i := 0; i+1 < len(header); i += 2 {
		found.Header.Set(header[i], header[i+1])
	}
	return found
}

func (s *fakeServer) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	if request.URL.Path == "/api/sql" {
		return s.sql(string(body)), nil
	}
	s.mu.Lock()
	count := len(s.requests)
	s.requests = append(s.requests, request)
	before, after := s.before, s.after
	s.mu.Unlock()
	if before != nil {
		if answered, err := before(count, request); answered != nil || err != nil {
			return answered, err
		}
	}
	reader, err := ipc.NewReader(bytes.NewReader(body))
	if err != nil {
		return answer(422, `{"kind": "invalid_value", "message": "the body is not an Arrow stream"}`), nil
	}
	rows := int64(0)
	for reader.Next() {
		rows += reader.RecordBatch().NumRows()
	}
	id := request.URL.Query().Get("batch")
	s.mu.Lock()
	_, isDuplicate := s.rows[id]
	s.rows[id] = rows
	if !isDuplicate {
		s.ids = append(s.ids, id)
	}
	s.mu.Unlock()
	if after != nil {
		if answered, err := after(count, request); answered != nil || err != nil {
			return answered, err
		}
	}
	return answer(200, fmt.Sprintf(`{"rows": %d, "duplicate": %t}`, rows, isDuplicate)), nil
}

func (s *fakeServer) sql(body string) *http.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statements = append(s.statements, body)
	if !strings.Contains(body, "LIMIT 0") {
		return answer(200, `{"verb": "CREATE TABLE", "rows": null}`)
	}
	var stream bytes.Buffer
	writer := ipc.NewWriter(&stream, ipc.WithSchema(s.schema))
	if err := writer.Close(); err != nil {
		s.t.Error(err)
	}
	return answer(200, stream.String())
}

// batches returns the rows of each stored batch, in order.
func (s *fakeServer) batches() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []int64
	for _, id := range s.ids {
		found = append(found, s.rows[id])
	}
	return found
}

func (s *fakeServer) requestCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// stall makes appends wait until the returned function is called or their context ends.
func (s *fakeServer) stall() (release func()) {
	released := make(chan struct{})
	s.before = func(_ int, request *http.Request) (*http.Response, error) {
		select {
		case <-released:
			return nil, nil
		case <-request.Context().Done():
			return nil, context.Cause(request.Context())
		}
	}
	return func() { close(released) }
}
