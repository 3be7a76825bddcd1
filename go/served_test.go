package atsdb

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// served is a real server, with a store of its own.
type served struct {
	t        *testing.T
	program  string
	store    string
	pg, http string // HOST:PORT, the same after a restart
	command  *exec.Cmd
	errors   *bytes.Buffer
}

// serve starts a server. Without the program the test is skipped.
func serve(t *testing.T) *served {
	t.Helper()
	program := os.Getenv("ATSDB")
	if program == "" {
		t.Skip("skipped: no server is tested without the program: ATSDB=PATH/atsdb go test ./...")
	}
	s := &served{t: t, program: program, store: filepath.Join(t.TempDir(), "store.db"), pg: "127.0.0.1:0", http: "127.0.0.1:0"}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *served) start() {
	s.t.Helper()
	s.errors = &bytes.Buffer{}
	s.command = exec.Command(s.program, "serve", s.store, "--pg", s.pg, "--http", s.http)
	s.command.Stderr = s.errors
	output, err := s.command.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if address, found := strings.CutPrefix(lines.Text(), "postgresql://"); found {
			s.pg = address
		}
		if address, found := strings.CutPrefix(lines.Text(), "http://"); found {
			s.http = address
			return
		}
	}
	_ = s.command.Wait()
	s.t.Fatalf("the server has not begun: %s", s.errors)
}

// kill ends the server as kill -9 does.
func (s *served) kill() {
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
}

func (s *served) client(options ClientOptions) *Client { return clientOf(s.t, s.http, options) }

func clientOf(t *testing.T, address string, options ClientOptions) *Client {
	t.Helper()
	client, err := NewClient("http://"+address, options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// connect is a connection of pgx.
func (s *served) connect() *pgx.Conn {
	s.t.Helper()
	connection, err := pgx.Connect(context.Background(), "postgresql://"+s.pg+"/any?sslmode=disable")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = connection.Close(context.Background()) })
	return connection
}

func (s *served) exec(sql string) {
	s.t.Helper()
	if _, err := s.connect().Exec(context.Background(), sql); err != nil {
		s.t.Fatal(err)
	}
}

// ask is the answer to a query with one row and one column.
func ask[V any](s *served, sql string, parameters ...any) V {
	s.t.Helper()
	var value V
	if err := s.connect().QueryRow(context.Background(), sql, parameters...).Scan(&value); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// checkOnce checks that the table has the rows 1 to count, each once.
func (s *served) checkOnce(table string, count int64) {
	s.t.Helper()
	rows, distinct := ask[int64](s, "SELECT count(*) FROM "+table), ask[int64](s, "SELECT count(DISTINCT n) FROM "+table)
	first, last := ask[int64](s, "SELECT min(n) FROM "+table), ask[int64](s, "SELECT max(n) FROM "+table)
	if rows != count || distinct != count || first != 1 || last != count {
		s.t.Errorf("table %s has %d rows, %d of them different, from %d to %d; wanted were 1 to %d",
			table, rows, distinct, first, last, count)
	}
}

// lossyProxy forwards connections to a server and cuts them. The nth answer, and the nth piece of a request, is cut as
// a function says.
type lossyProxy struct {
	t         *testing.T
	listener  net.Listener
	to        string
	mu        sync.Mutex
	answers   int
	pieces    int
	cutCount  int
	cutAnswer func(n int) cut
	cutPiece  func(n int) bool
}

type cut int

const (
	forward cut = iota
	// cutBefore drops an answer, which the server has sent when its commit was done.
	cutBefore
	// cutWithin forwards the first bytes of an answer.
	cutWithin
)

func newLossyProxy(t *testing.T, to string) *lossyProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &lossyProxy{t: t, listener: listener, to: to}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(connection)
		}
	}()
	return p
}

func (p *lossyProxy) forward(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		// A request is forwarded in pieces.
		defer server.Close()
		defer client.Close()
		p.copy(server, client, func(piece []byte) ([]byte, bool) {
			p.pieces++
			return piece, p.cutPiece != nil && p.cutPiece(p.pieces)
		})
	}()
	p.copy(client, server, func(piece []byte) ([]byte, bool) {
		p.answers++
		if p.cutAnswer == nil {
			return piece, false
		}
		switch p.cutAnswer(p.answers) {
		case cutBefore:
			return nil, true
		case cutWithin:
			return piece[:len(piece)/2], true
		default:
			return piece, false
		}
	})
}

func (p *lossyProxy) copy(to, from net.Conn, treat func([]byte) (piece []byte, isCut bool)) {
	buffer := make([]byte, 16<<10)
	for {
		count, err := from.Read(buffer)
		if count > 0 {
			p.mu.Lock()
			piece, isCut := treat(buffer[:count])
			if isCut {
				p.cutCount++
			}
			p.mu.Unlock()
			if _, err := to.Write(piece); err != nil || isCut {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cuts begins to cut connections.
func (p *lossyProxy) cuts(answer func(n int) cut, piece func(n int) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers, p.pieces, p.cutAnswer, p.cutPiece = 0, 0, answer, piece
}

func (p *lossyProxy) cutsDone() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cutCount
}

// soon is a context for what must not take long.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
