package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// These tests cover defects of other Go implementations: G stands for the official SDK, M for
// mcp-go.

// G9: bodies and lines were read without a limit.
func TestResponsesAreBounded(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream"} {
		inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
			w.Header().Set("Content-Type", kind)
			for _, err := fmt.Fprint(w, "data: "); err == nil; _, err = fmt.Fprint(w, pad(4<<10)) {
			}
		}), func(t *testing.T, s *testServer) {
			_, err := call(t, s.connect(t, client.Options{Limits: limitFrame(1 << 20)}))
			assert.Assert(t, errors.Is(err, framing.ErrTooLarge), "%v", err)
		})
	}
}

// G10: a line without a colon, which the format allows, ended the connection, and spaces around
// data were lost.
func TestEventLinesWithoutColon(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		events(w, r).raw(
			"retry\nid\nevent\nwhatever\ndata\ndata:   {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata:\"result\":%s} \ndata\n\n",
			r.message.ID, text)
	}), func(t *testing.T, s *testServer) { check(t, s.connect(t, client.Options{})) })
}

// G11: the loss of a subscription was not noticed; it was not reopened, and subscribing again was
// refused.
func TestLostSubscriptionsAreReopened(t *testing.T) {
	var opened atomic.Int64
	inBubble(t, func(w http.ResponseWriter, r *recordedRequest) {
		switch r.message.Method {
		case "server/discover":
			answerJSON(w, r,
				strings.Replace(discovered, `"tools":{}`, `"resources":{"subscribe":true}`, 1))
		case "subscriptions/listen":
			n := opened.Add(1)
			stream := events(w, r)
			stream.notify("notifications/subscriptions/acknowledged", fmt.Sprintf(
				`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"resourceSubscriptions":["a:1"]}}`,
				r.message.ID))
			if n > 1 || !wait(r, time.Second) {
				stream.hold()
			}
		}
	}, func(t *testing.T, s *testServer) {
		updates := make(chan string, 10)
		c := s.connect(t, client.Options{OnResourceUpdated: func(uri string) { updates <- uri }})
		assert.NilError(t, c.Subscribe(t.Context(), "a:1"))
		assert.Equal(t, <-updates, "a:1") // it may have changed while the stream was closed
		synctest.Wait()
		assert.Equal(t, opened.Load(), int64(2))
		assert.NilError(t, c.Subscribe(t.Context(), "a:1"))
	})
}

// G12: state of streams and subscriptions was kept as long as the connection.
func TestCallsLeaveNothingBehind(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		events(w, r).result(text)
	}), func(t *testing.T, s *testServer) {
		s.o.MaxCalls = 3
		c := s.connect(t, client.Options{})
		for range 300 {
			check(t, c)
			synctest.Wait()
		}
		assert.Equal(t, len(s.pipes.dialed), 1) // one connection is reused
	})
}

// G16: any failure of the probe led to initialize, even a network error or a cancellation.
func TestOnlyAResponseChangesTheEra(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, *recordedRequest){
		"401": respondWith(401, "", ""), "403": refusing(403, -32001),
		"429": respondWith(429, "", ""), "busy": refusing(429, -31999),
		"502": respondWith(502, "", ""), "503": refusing(503, -32000),
		"gone": func(http.ResponseWriter, *recordedRequest) { panic(http.ErrAbortHandler) },
	} {
		inBubble(t, discover(answer), func(t *testing.T, s *testServer) {
			_, err := s.tryConnect(t, client.Options{})
			assert.Assert(t, err != nil, name)
			assert.Equal(t, s.count("POST initialize"), 0, name)
		})
	}
}

// The error of a busy server is passed on, and differs from that of a proxy.
func TestBusyServerStaysConnected(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		refusing(429, rpc.CodeBusy)(w, r)
	}), func(t *testing.T, s *testServer) {
		_, err := s.connect(t, client.Options{}).CallTool(t.Context(), "weather", nil)
		assert.ErrorIs(t, err, rpc.ErrBusy)
	})
}

// M11: cancellations were not sent to the server.
func TestCancellationIsSent(t *testing.T) {
	inBubble(t, legacy(blockRequest, nil), func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{Era: mcp.Legacy})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.CallTool(ctx, "weather", nil)
		assert.Assert(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
		assert.Equal(t, s.count("POST notifications/cancelled"), 1)
	})
}

// M13: callbacks ran on the reading goroutine, so a callback that used the client deadlocked.
func TestCallbacksMayCall(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		stream := events(w, r)
		stream.notify("notifications/message", `{"level":"info","data":1}`)
		stream.notify("notifications/progress", `{"progressToken":1,"progress":1}`)
		if wait(r, time.Second) {
			stream.result(text)
		}
	}), func(t *testing.T, s *testServer) {
		var c *client.Client
		first := make(chan struct{})
		done := make(chan struct{}, 10)
		c = s.connect(t, client.Options{LogLevel: "info", OnLog: func(mcp.LoggingMessageParams) {
			select {
			case <-first:
			default:
				close(first)
				check(t, c)
				done <- struct{}{}
			}
		}})
		_, err := call(t, c, client.OnProgress(func(mcp.ProgressParams) { check(t, c) }))
		assert.NilError(t, err)
		<-done
	})
}
