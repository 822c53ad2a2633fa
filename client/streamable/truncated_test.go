package streamable_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// truncate sends the beginning of text, and ends the stream regularly or abruptly.
func truncate(w http.ResponseWriter, r *recordedRequest, text string, abort bool) {
	events(w, r).raw("%s", text)
	if abort {
		panic(http.ErrAbortHandler)
	}
}

// A modern response may be truncated after any byte: the call fails with ErrDisconnected. Only a
// complete event is a response.
func TestModernResponseTruncatedAnywhere(t *testing.T) {
	whole := func(id string) string {
		return fmt.Sprintf(
			"id: 1\n: hi\r\n\r\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":%s,\"result\":%s}\n\n",
			id, text)
	}
	for _, abort := range []bool{false, true} {
		missing := 0 // bytes at the end
		inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
			text := whole(string(r.message.ID))
			truncate(w, r, text[:max(0, len(text)-missing)], abort && missing > 0)
		}), func(t *testing.T, s *testServer) {
			s.o.MaxCalls = 1
			c := s.connect(t, client.Options{})
			check(t, c)
			for missing = range len(whole("999")) {
				_, err := call(t, c)
				assert.Equal(t, errors.Is(err, streamable.ErrDisconnected), missing > 0,
					"without %d: %v", missing, err)
			}
			assert.Equal(t, len(s.lines()), 3+missing)
		})
	}
}

// A legacy response with event ids may be truncated after any byte, on the first stream and on each
// that resumes it: the call succeeds, and progress arrives once and in order.
func TestLegacyResponseTruncatedAnywhere(t *testing.T) {
	const first, last = "id: 0\ndata:\n\n", 4
	// rest is what the server has for a call from behind an event on.
	rest := func(after int, token, id string) (events string) {
		for n := after + 1; n < last; n++ {
			events += fmt.Sprintf(
				"id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n\n",
				n, token, n)
		}
		return events + fmt.Sprintf(
			"id: %d\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", last, id, text)
	}
	for _, abort := range []bool{false, true} {
		at := 0 // how much comes of each stream, but for the last of a call
		var id, token string
		inBubble(t, legacy(func(w http.ResponseWriter, r *recordedRequest) {
			var params struct {
				Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
			assert.Check(t, json.Unmarshal(r.message.Params, &params))
			id, token = string(r.message.ID), string(params.Meta.ProgressToken)
			begin := first + rest(0, token, id)
			truncate(w, r, begin[:min(len(first)+at, len(begin))], abort)
		}, func(w http.ResponseWriter, r *recordedRequest) {
			var after int
			if n, _ := fmt.Sscan(r.Header.Get("Last-Event-Id"), &after); n == 0 {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			more := rest(after, token, id)
			truncate(w, r, more[:min(max(at, 130), len(more))], abort) // an event at least
		}), func(t *testing.T, s *testServer) {
			s.o.MaxCalls = 1
			c := s.connect(t, client.Options{Era: mcp.Legacy})
			for at = range len(rest(0, "999", "999")) {
				began := time.Now()
				got := 0.0
				answer, err := call(t, c, client.OnProgress(func(p mcp.ProgressParams) {
					assert.Check(t, p.Progress > got, "%v after %v", p.Progress, got)
					got = p.Progress
				}))
				assert.NilError(t, err, "cut at %d", at)
				assert.Equal(t, answer, "mild")
				assert.Equal(t, got, last-1.0)
				assert.Assert(t, time.Since(began) <= 4*time.Second, "%v", time.Since(began))
				assert.Equal(t, s.count("POST tools/call"), at+1)
			}
		})
	}
}

// Before the first id, a legacy answer is as lost as a modern one.
func TestLegacyResponseTruncatedBeforeFirstID(t *testing.T) {
	const begin = "id: 0\ndata:\n\n"
	for at := range len(begin) {
		inBubble(t, legacy(func(w http.ResponseWriter, r *recordedRequest) {
			truncate(w, r, begin[:at], at%2 == 0)
		}, nil), func(t *testing.T, s *testServer) {
			_, err := call(t, s.connect(t, client.Options{Era: mcp.Legacy}))
			assert.Assert(t, errors.Is(err, streamable.ErrDisconnected), "cut at %d: %v", at, err)
			assert.Equal(t, s.count("GET"), 1) // that listens
		})
	}
}
