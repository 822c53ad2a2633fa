package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
)

// pipes is a listener whose connections are in memory, so that their time is that of the bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// served runs the test in a bubble with a server, and gives it a connection that the server has
// accepted.
func served(t *testing.T, server *http.Server,
	test func(t *testing.T, conn net.Conn, start time.Time)) {
	synctest.Test(t, func(t *testing.T) {
		c := notes(t)
		dispatch.Add(c, dispatch.Spec{Name: "hour", Summary: "Takes an hour.", Type: dispatch.Wait},
			func(ctx context.Context, _ struct{}) (struct{}, error) {
				select {
				case <-time.After(time.Hour):
					return struct{}{}, nil
				case <-ctx.Done():
					return struct{}{}, ctx.Err()
				}
			})
		dispatch.Add(c, dispatch.Spec{Name: "large", Summary: "Returns a mebibyte.",
			Type: dispatch.Read}, func(context.Context, struct{}) (string, error) {
			return strings.Repeat("x", 1<<20), nil
		})
		dispatch.Add(c, dispatch.Spec{Name: "huge", Summary: "Returns eight mebibytes.",
			Type: dispatch.Read}, func(context.Context, struct{}) (string, error) {
			return strings.Repeat("x", 8<<20), nil
		})
		server.Handler = newSurface(c, api.Options{})
		listener := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		var serving sync.WaitGroup
		serving.Go(func() {
			assert.Check(t, errors.Is(server.Serve(listener), http.ErrServerClosed))
		})
		defer serving.Wait()
		defer server.Close()
		here, there := net.Pipe()
		defer here.Close()
		listener.conns <- there
		test(t, here, time.Now())
	})
}

func post(path, body string, length int) string {
	return fmt.Sprintf(
		"POST %s HTTP/1.1\r\nHost: api.test\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, length, body)
}

func write(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(conn, text)
	assert.NilError(t, err)
}

func read(t *testing.T, from *bufio.Reader) (status int, body string) {
	t.Helper()
	answer, err := http.ReadResponse(from, nil)
	assert.NilError(t, err)
	text, err := io.ReadAll(answer.Body)
	assert.NilError(t, err)
	return answer.StatusCode, string(text)
}

func TestBodyThatDoesNotCome(t *testing.T) {
	for _, test := range []struct {
		server *http.Server
		wait   time.Duration
	}{{&http.Server{}, 30 * time.Second},
		{&http.Server{ReadTimeout: 5 * time.Second}, 5 * time.Second},
		{&http.Server{ReadTimeout: time.Minute}, time.Minute}} {
		served(t, test.server, func(t *testing.T, conn net.Conn, start time.Time) {
			write(t, conn, post("/v1/old", `{"action`, 100))
			from := bufio.NewReader(conn)
			status, body := read(t, from)
			assert.Equal(t, status, 408)
			assert.Assert(t, strings.Contains(body, `"code":"timeout"`), body)
			assert.Equal(t, time.Since(start), test.wait)
			_, err := from.ReadByte()
			assert.ErrorIs(t, err, io.EOF)
		})
	}
}

// Also what is refused without a look at its body does not hold on to the server.
func TestRefusedBodyThatDoesNotCome(t *testing.T) {
	served(t, &http.Server{}, func(t *testing.T, conn net.Conn, start time.Time) {
		write(t, conn, post("/nope", "", 100))
		from := bufio.NewReader(conn)
		status, _ := read(t, from)
		assert.Equal(t, status, 404)
		_, err := from.ReadByte()
		assert.ErrorIs(t, err, io.EOF)
		assert.Assert(t, time.Since(start) <= 31*time.Second, "%v", time.Since(start))
	})
}

// A body that breaks off is the end of the connection, and of nothing else.
func TestBodyThatBreaksOff(t *testing.T) {
	served(t, &http.Server{}, func(t *testing.T, conn net.Conn, _ time.Time) {
		write(t, conn, "POST /v1/old HTTP/1.1\r\nHost: api.test\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nnonsense\r\n")
		status, body := read(t, bufio.NewReader(conn))
		assert.Equal(t, status, 400)
		assert.Assert(t, strings.Contains(body, "the body did not come whole"), body)
	})
}

// The time for the body is not that of the call, and is over for the next request on the
// connection.
func TestLongCallsOnOneConnection(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Minute} {
		served(t, &http.Server{ReadTimeout: timeout, IdleTimeout: 24 * time.Hour},
			func(t *testing.T, conn net.Conn, start time.Time) {
				from := bufio.NewReader(conn)
				for i := range 3 {
					write(t, conn, post("/v1/hour", "{}", 2))
					status, body := read(t, from)
					assert.Equal(t, status, 200, body)
					assert.Equal(t, time.Since(start), time.Duration(2*i+1)*time.Hour)
					time.Sleep(time.Hour) // of the bubble's time
				}
			})
	}
}

func TestAnswerThatIsNotRead(t *testing.T) {
	var ended atomic.Pointer[time.Time]
	server := &http.Server{ConnState: func(_ net.Conn, state http.ConnState) {
		if now := time.Now(); state == http.StateClosed {
			ended.CompareAndSwap(nil, &now)
		}
	}}
	served(t, server, func(t *testing.T, conn net.Conn, start time.Time) {
		write(t, conn, post("/v1/large", "{}", 2))
		time.Sleep(time.Hour)                                    // of the bubble's time
		assert.Equal(t, ended.Load().Sub(start), 30*time.Second) // not one piece
	})
	served(t, &http.Server{WriteTimeout: time.Second},
		func(t *testing.T, conn net.Conn, start time.Time) {
			write(t, conn, post("/v1/large", "{}", 2))
			time.Sleep(time.Hour)
			_, err := io.Copy(io.Discard, conn)
			assert.NilError(t, err)
			assert.Equal(t, time.Since(start), time.Hour)
		})
}

// Who reads slowly, but not too slowly, gets it all.
func TestAnswerThatIsReadSlowly(t *testing.T) {
	served(t, &http.Server{}, func(t *testing.T, conn net.Conn, start time.Time) {
		write(t, conn, post("/v1/large", "{}", 2))
		var got int
		for piece := make([]byte, 32<<10); got < 1<<20; {
			time.Sleep(1800 * time.Millisecond)
			n, err := conn.Read(piece)
			assert.NilError(t, err, "after %v", time.Since(start))
			got += n
		}
		assert.Assert(t, time.Since(start) > 50*time.Second, "%v", time.Since(start))
	})
}

// Who reads each piece in time, but all of a large answer too slowly, is cut off all the same.
func TestAnswerThatIsReadForTooLong(t *testing.T) {
	served(t, &http.Server{}, func(t *testing.T, conn net.Conn, start time.Time) {
		write(t, conn, post("/v1/huge", "{}", 2))
		got, piece := 0, make([]byte, 256<<10)
		for {
			time.Sleep(7 * time.Second)
			n, err := io.ReadFull(conn, piece)
			if got += n; err != nil {
				break
			}
		}
		assert.Assert(t, got < 8<<20, "%d", got)
		assert.Assert(t, time.Since(start) < 130*time.Second, "%v", time.Since(start))
	})
}
