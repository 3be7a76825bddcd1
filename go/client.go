package atsdb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

const (
	// answerBytesMax is the maximum number of bytes of an answer that are read.
	answerBytesMax = 1 << 20
	// streamBytesMax is the size of the largest stream that the server accepts in one request.
	streamBytesMax = 64 << 20
	// retryTimeMax is one day less than the time for which the server remembers the id of a batch.
	retryTimeMax = 29 * 24 * time.Hour
	// declareTimeMax is the longest time that a new appender waits for its table if the server cannot be reached.
	declareTimeMax = 30 * time.Second
)

// ClientOptions are the options of a [Client]. The zero value has the defaults.
type ClientOptions struct {
	// HTTP sends the requests. The default is a separate client that follows no redirections.
	HTTP *http.Client
	// Header is added to each request, for example for a proxy that requires authentication.
	Header http.Header
	// RequestTime is the time limit of one attempt. The default is a minute.
	RequestTime time.Duration
	// RetryTime is the time for which a batch is sent again while the server cannot be reached or is busy. The default,
	// and the maximum, is 29 days: a server remembers the ids of batches for 30.
	RetryTime time.Duration
	// OnRetry is called before each wait, if it is not nil. It is meant for logging.
	OnRetry func(err error, wait time.Duration)
}

// Client talks to one server. It may be used by several goroutines.
type Client struct {
	address *url.URL
	options ClientOptions
}

// Appended is the answer to a batch.
type Appended struct {
	Rows int64 `json:"rows"`
	// Duplicate is true if a batch with this id was stored before, so that this one was dropped.
	Duplicate bool `json:"duplicate"`
}

// NewClient returns a client of the server at an address such as http://127.0.0.1:8086. A server with several databases
// needs the name of one in the address, as in http://127.0.0.1:8086?db=air. NewClient does not connect yet.
func NewClient(address string, options ClientOptions) (*Client, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("atsdb: the server's address: %w", err)
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return nil, fmt.Errorf("atsdb: the server's address is %q: write it as http://127.0.0.1:8086", address)
	}
	if options.HTTP == nil {
		refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		transport := http.DefaultTransport
		// The program may have replaced it, for example to trace requests.
		if standard, ok := transport.(*http.Transport); ok {
			transport = standard.Clone()
		}
		options.HTTP = &http.Client{Transport: transport, CheckRedirect: refuse}
	}
	if options.RequestTime <= 0 {
		options.RequestTime = time.Minute
	}
	if options.RetryTime <= 0 || options.RetryTime > retryTimeMax {
		options.RetryTime = retryTimeMax
	}
	return &Client{address: parsed, options: options}, nil
}

// AppendStream adds the rows of an Arrow stream to a table in one commit, and returns when they are durable. With an id
// (up to 200 bytes) a stream counts once, however often it is sent. Only a stream with an id is sent again while the
// server cannot be reached or is busy.
func (c *Client) AppendStream(ctx context.Context, table, id string, stream []byte) (Appended, error) {
	if len(stream) > streamBytesMax {
		return Appended{}, fmt.Errorf("atsdb: a batch of %d bytes is too large: a server accepts at most %d",
			len(stream), streamBytesMax)
	}
	query := url.Values{"table": {table}}
	header := http.Header{"Content-Type": {"application/vnd.apache.arrow.stream"}}
	retryTime := time.Duration(0)
	if id != "" {
		query.Set("batch", id)
		retryTime = c.options.RetryTime
	}
	var done Appended
	err := c.retry(ctx, retryTime, func(ctx context.Context) error {
		body, err := c.post(ctx, "/api/append", query, header, stream)
		if err != nil {
			return err
		}
		done = Appended{}
		if err := json.Unmarshal(body, &done); err != nil {
			return fmt.Errorf("atsdb: cannot read the server's answer %s: %w", short(string(body)), err)
		}
		return nil
	})
	return done, err
}

// declare runs a statement that may be run twice.
func (c *Client) declare(ctx context.Context, statement string) error {
	_, err := c.sql(ctx, statement, "json")
	return err
}

// named returns the name in SQL of a table: s.t is the table t of the schema s, if the server has that schema.
func (c *Client) named(ctx context.Context, table string) (tableName, error) {
	schema, name, found := strings.Cut(table, ".")
	if !found || schema == "" || name == "" {
		return tableName{name: table}, nil
	}
	reader, err := c.query(ctx, "SELECT schema_name FROM information_schema.schemata WHERE lower(schema_name) = lower("+
		quoteText(schema)+") AND schema_name NOT IN ('atsdb', 'information_schema', 'public')")
	if err != nil {
		return tableName{}, err
	}
	defer reader.Release()
	exists := false
	for reader.Next() {
		exists = exists || reader.RecordBatch().NumRows() > 0
	}
	if err := reader.Err(); err != nil || !exists {
		return tableName{name: table}, err
	}
	return tableName{schema, name}, nil
}

// schema requests the columns of a table.
func (c *Client) schema(ctx context.Context, table tableName) (*arrow.Schema, error) {
	reader, err := c.query(ctx, "SELECT * FROM "+table.String()+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	return reader.Schema(), nil
}

// filled requests which columns of a table get a value in rows that lack them: a default or a number. The names are in
// lower case.
func (c *Client) filled(ctx context.Context, table tableName) (map[string]bool, error) {
	schema := "current_schema()"
	if table.schema != "" {
		schema = quoteText(table.schema)
	}
	reader, err := c.query(ctx, "SELECT lower(column_name) FROM information_schema.columns WHERE lower(table_schema) = lower("+
		schema+") AND lower(table_name) = lower("+quoteText(table.name)+
		") AND (column_default IS NOT NULL OR is_identity = 'YES')")
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	found := map[string]bool{}
	for reader.Next() {
		names := reader.RecordBatch().Column(0)
		for i := range names.Len() {
			found[names.ValueStr(i)] = true
		}
	}
	return found, reader.Err()
}

// query runs a query with a small answer.
func (c *Client) query(ctx context.Context, statement string) (*ipc.Reader, error) {
	body, err := c.sql(ctx, statement, "arrow")
	if err != nil {
		return nil, err
	}
	reader, err := ipc.NewReader(bytes.NewReader(body), ipc.WithAllocator(allocator))
	if err != nil {
		return nil, fmt.Errorf("atsdb: cannot read the answer of %s: %w", statement, err)
	}
	return reader, nil
}

func (c *Client) sql(ctx context.Context, statement, format string) ([]byte, error) {
	request, err := json.Marshal(map[string]string{"sql": statement, "format": format})
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	var answer []byte
	err = c.retry(ctx, min(c.options.RetryTime, declareTimeMax), func(ctx context.Context) (err error) {
		answer, err = c.post(ctx, "/api/sql", nil, header, request)
		return err
	})
	return answer, err
}

// post makes one attempt. Its error is an [*Error] if the server has answered, and a [*lostError] if it may not even
// have received the request.
func (c *Client) post(
	ctx context.Context, path string, query url.Values, header http.Header, body []byte,
) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.RequestTime)
	defer cancel()
	address := c.address.JoinPath(path)
	// The server's address may name the database.
	named := address.Query()
	for name, values := range query {
		named[name] = values
	}
	address.RawQuery = named.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("atsdb: %w", err)
	}
	for _, more := range []http.Header{header, c.options.Header} {
		for name, values := range more {
			request.Header[name] = values
		}
	}
	answer, err := c.options.HTTP.Do(request)
	if err != nil {
		return nil, &lostError{err}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, answerBytesMax))
	switch {
	case answer.StatusCode == http.StatusOK && err != nil:
		return nil, &lostError{err}
	case answer.StatusCode == http.StatusOK:
		return text, nil
	default:
		refused := errorOf(answer.StatusCode, text)
		if wait := retryAfter(answer.Header, time.Now()); wait > 0 {
			return nil, &patienceError{refused, wait}
		}
		return nil, refused
	}
}
