package redis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// A fakeServer answers each command with what its function returns. It says hello by itself.
type fakeServer struct {
	net.Listener
	hello  string
	answer func(f *fakeConn, args []string) string

	mu    sync.Mutex
	conns []net.Conn
	seen  []string // the commands, without those of the handshake
	count int      // connections
}

type fakeConn struct {
	net.Conn
	number int // of the connection, from 1
}

const master = "%3\r\n+server\r\n+redis\r\n+mode\r\n+standalone\r\n+role\r\n+master\r\n"

func startFake(t *testing.T, answer func(f *fakeConn, args []string) string) *fakeServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	return startFakeAt(t, l, answer)
}

func startFakeAt(t *testing.T, l net.Listener,
	answer func(f *fakeConn, args []string) string) *fakeServer {
	s := &fakeServer{Listener: l, hello: master, answer: answer}
	var running sync.WaitGroup
	running.Go(func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.count = n
			s.mu.Unlock()
			running.Go(func() { s.serve(&fakeConn{c, n}) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.drop()
		running.Wait()
	})
	return s
}

// drop closes the connections.
func (s *fakeServer) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
}

func (s *fakeServer) serve(c *fakeConn) {
	r := bufio.NewReader(c)
	pinged := false
	for {
		args, err := readCommand(r)
		if err != nil {
			return
		}
		var answer string
		switch {
		case args[0] == "HELLO":
			answer = s.hello
		case args[0] == "PING" && !pinged:
			pinged, answer = true, "+PONG\r\n"
		default:
			s.mu.Lock()
			s.seen = append(s.seen, strings.Join(args, " "))
			s.mu.Unlock()
			answer = s.answer(c, args)
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
}

func (s *fakeServer) commands() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen, ",")
}

func readCommand(r *bufio.Reader) (args []string, err error) {
	number := func() (n int) {
		var line string
		if line, err = r.ReadString('\n'); err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(line[1:]))
		}
		return n
	}
	n := number()
	for range n {
		text := make([]byte, number()+2)
		if err == nil {
			_, err = io.ReadFull(r, text)
		}
		if err != nil {
			return nil, err
		}
		args = append(args, string(text[:len(text)-2]))
	}
	return args, err
}

func connectTo(t *testing.T, o Options) *Client {
	c, err := New(o)
	assert.NilError(t, err)
	t.Cleanup(c.Close)
	return c
}

func (s *fakeServer) client(t *testing.T) *Client {
	return connectTo(t, Options{Network: "tcp", Address: s.Addr().String()})
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for a condition.
func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
