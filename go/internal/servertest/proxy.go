package servertest

import (
	"net"
	"sync"
	"testing"
)

// LossyProxy forwards connections to a server and cuts them. A function decides
// whether the nth answer, and the nth piece of a request, is cut.
type LossyProxy struct {
	listener  net.Listener
	to        string
	mu        sync.Mutex
	answers   int
	pieces    int
	cutCount  int
	cutAnswer func(n int) Cut
	cutPiece  func(n int) bool
}

// Cut is the fate of an answer.
type Cut int

const (
	// Forward forwards the answer unchanged.
	Forward Cut = iota
	// CutBefore drops an answer that the server sent after its commit.
	CutBefore
	// CutWithin forwards the first bytes of an answer.
	CutWithin
)

// NewLossyProxy starts a proxy for a server at HOST:PORT. It cuts nothing before Cut is called.
func NewLossyProxy(t *testing.T, to string) *LossyProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &LossyProxy{listener: listener, to: to}
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

func (p *LossyProxy) forward(client net.Conn) {
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
		case CutBefore:
			return nil, true
		case CutWithin:
			return piece[:len(piece)/2], true
		default:
			return piece, false
		}
	})
}

func (p *LossyProxy) copy(to, from net.Conn, treat func([]byte) (piece []byte, isCut bool)) {
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

// Address returns the proxy's address, HOST:PORT.
func (p *LossyProxy) Address() string { return p.listener.Addr().String() }

// Cut starts cutting connections.
func (p *LossyProxy) Cut(answer func(n int) Cut, piece func(n int) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers, p.pieces, p.cutAnswer, p.cutPiece = 0, 0, answer, piece
}

// CutCount returns the number of connections that were cut.
func (p *LossyProxy) CutCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cutCount
}
