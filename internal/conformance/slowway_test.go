//go:build linux

package conformance_test

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// A slowWay passes connections on to a socket, and may make what comes back from there late.
type slowWay struct {
	address, socket string

	mu       sync.Mutex
	from, to time.Duration // how late all is
	until    time.Time     // when something comes again
}

func newSlowWay(t *testing.T, socket string) *slowWay {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	w := &slowWay{address: listener.Addr().String(), socket: socket}
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { w.pass(c) })
		}
	})
	t.Cleanup(func() {
		assert.Check(t, listener.Close())
		connections.Wait() // both ends have ended before
	})
	return w
}

// delay makes all that comes back late by between from and to. stop lets nothing come for a time,
// after which it comes at once.
func (w *slowWay) delay(from, to time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.from, w.to = from, to
}

func (w *slowWay) stop(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.from, w.to, w.until = 0, 0, time.Now().Add(d)
}

// due returns when something that has come from the store now arrives.
func (w *slowWay) due() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := time.Now().Add(w.from)
	if w.to > w.from {
		at = at.Add(rand.N(w.to - w.from))
	}
	if at.Before(w.until) {
		return w.until
	}
	return at
}

func (w *slowWay) pass(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("unix", w.socket)
	if err != nil {
		return
	}
	defer to.Close()
	type part struct {
		due  time.Time
		text []byte
	}
	parts := make(chan part, 1024)
	var both sync.WaitGroup
	both.Go(func() {
		defer to.Close() // the reader of it ends
		_, _ = io.Copy(to, from)
	})
	both.Go(func() {
		defer from.Close()
		for p := range parts {
			time.Sleep(time.Until(p.due)) // that is what happens
			if _, err := from.Write(p.text); err != nil {
				break
			}
		}
		for range parts { // nobody reads it any more
		}
	})
	for {
		text := make([]byte, 64<<10)
		n, err := to.Read(text)
		if err != nil {
			break
		}
		parts <- part{w.due(), text[:n]}
	}
	close(parts)
	both.Wait()
}
