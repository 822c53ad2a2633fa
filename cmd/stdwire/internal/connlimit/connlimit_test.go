package connlimit

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
)

// serveBounded serves over a bounded listener, and returns what dials it from an address of this
// machine.
func serveBounded(t *testing.T, most int) (l *Listener, dial func(from string) net.Conn) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	l = New(listener, most)
	server := &http.Server{ConnState: l.TrackState,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "ok")
		})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		assert.Check(t, server.Close())
		<-served
		assert.Check(t, l.Open() == 0, "every place was given back")
	})
	return l, func(from string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := d.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Skipf("this machine has no address %s: %v", from, err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
}

// statusLine sends a request and returns the status line of its answer; "" if the connection was
// closed.
func statusLine(conn net.Conn) string {
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	answer := make([]byte, 1024)
	n, _ := conn.Read(answer)
	line, _, _ := strings.Cut(string(answer[:n]), "\r\n")
	return line
}

func TestOneAddressLeavesConnectionsToOthers(t *testing.T) {
	l, dial := serveBounded(t, 8)
	for range 4 {
		dial("127.0.0.1")
	}
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if l.Open() == 4 {
			return poll.Success()
		}
		return poll.Continue("%d are open", l.Open())
	}, poll.WithTimeout(time.Minute))
	answer := make([]byte, 1024)
	n, err := dial("127.0.0.1").Read(answer)
	assert.NilError(t, err)
	assert.Assert(t, strings.HasPrefix(string(answer[:n]), "HTTP/1.1 503 "), "%s", answer[:n])
	assert.Assert(t,
		strings.HasSuffix(string(answer[:n]), "\r\n\r\ntoo many connections are open; come later"),
		"%s", answer[:n])
	assert.Equal(t, statusLine(dial("127.0.0.2")), "HTTP/1.1 200 OK")
}

func TestIdleConnectionsMakeRoom(t *testing.T) {
	l, dial := serveBounded(t, 8)
	var own []net.Conn
	for range 4 {
		own = append(own, dial("127.0.0.1"))
	}
	for _, conn := range own {
		assert.Equal(t, statusLine(conn), "HTTP/1.1 200 OK")
	}
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.idle["127.0.0.1"]) == 4 {
			return poll.Success()
		}
		return poll.Continue("%v are idle", l.idle)
	}, poll.WithTimeout(time.Minute))
	assert.Equal(t, statusLine(dial("127.0.0.1")), "HTTP/1.1 200 OK")
	closed := 0
	for _, conn := range own {
		if statusLine(conn) == "" {
			closed++
		}
	}
	assert.Equal(t, closed, 1)
}
