// Package servertest starts and kills a real server for tests, and can disturb its connections.
package servertest

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// Server is a real server, with a store of its own.
type Server struct {
	// PG and HTTP are its addresses, HOST:PORT. They stay the same after a restart.
	PG, HTTP string

	t       *testing.T
	program string
	store   string
	command *exec.Cmd
}

// Start starts a server that ends with the test. The path of the program is in ATSDB; without it, the test is skipped.
func Start(t *testing.T) *Server {
	t.Helper()
	program := os.Getenv("ATSDB")
	if program == "" {
		t.Skip("skipped: there is no program to test with: ATSDB=PATH/atsdb go test ./...")
	}
	s := &Server{t: t, program: program, store: filepath.Join(t.TempDir(), "store.db")}
	// Another program may take a port between the search and the start.
	for attempt := 1; ; attempt++ {
		s.PG, s.HTTP = freeAddress(t), freeAddress(t)
		messages, hasBegun := s.begin()
		if hasBegun {
			break
		}
		if attempt == startAttempts || !strings.Contains(messages, portTaken) {
			t.Fatalf("the server has not begun: %s", messages)
		}
	}
	t.Cleanup(s.Kill)
	return s
}

// How often a server is started on other ports, and what it says about a port that is taken.
const (
	startAttempts = 5
	portTaken     = "another process listens there"
)

// The ports of tests: the first, how many of them a process has, and how many processes have other ones.
const (
	portMin    = 10_000
	blockPorts = 100
	portBlocks = 220
)

var nextPort atomic.Int64

// freeAddress returns an address of this machine whose port is free. It is below those that the system gives to
// connections by itself, so that it stays free while the server is killed.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range blockPorts {
		port := portMin + os.Getpid()%portBlocks*blockPorts + int(nextPort.Add(1)%blockPorts)
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if listener, err := net.Listen("tcp", address); err == nil {
			_ = listener.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

// Restart starts the server again, after Kill.
func (s *Server) Restart() {
	s.t.Helper()
	if messages, hasBegun := s.begin(); !hasBegun {
		s.t.Fatalf("the server has not begun: %s", messages)
	}
}

// begin starts the server at its addresses, and says whether it has begun. If not, it has ended with the messages.
func (s *Server) begin() (string, bool) {
	s.t.Helper()
	messages := &bytes.Buffer{}
	s.command = exec.Command(s.program, "serve", s.store, "--pg", s.PG, "--http", s.HTTP)
	s.command.Stderr = messages
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
			s.PG = address
		}
		if address, found := strings.CutPrefix(lines.Text(), "http://"); found {
			s.HTTP = address
			return "", true
		}
	}
	_ = s.command.Wait()
	return messages.String(), false
}

// Kill ends the server like kill -9.
func (s *Server) Kill() {
	_ = s.command.Process.Kill()
	_ = s.command.Wait()
}
