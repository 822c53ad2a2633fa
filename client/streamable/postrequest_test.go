package streamable_test

import (
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc"
)

// After many concurrent calls, at most maxIdleWorkers goroutines remain, and handle later calls.
func TestIdleWorkers(t *testing.T) {
	const many = 100
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		if strings.Contains(r.body, "together") {
			time.Sleep(time.Second) // time advances when all calls have arrived
		}
		answerJSON(w, r, text)
	}), func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{})
		call := func(args any) {
			_, err := c.CallTool(t.Context(), "weather", args)
			assert.Check(t, err)
		}
		var calls sync.WaitGroup
		for range many {
			calls.Go(func() { call(map[string]bool{"together": true}) })
		}
		calls.Wait()
		resting := func() int {
			synctest.Wait()
			stacks := make([]byte, 4<<20)
			return strings.Count(string(stacks[:runtime.Stack(stacks, true)]),
				"streamable.(*conn).worker(")
		}
		assert.Equal(t, resting(), 32)
		for range many {
			call(nil)
		}
		assert.Equal(t, resting(), 32)
	})
}

// Headers of the application are sent, except those that the protocol reserves.
func TestOptionsHeader(t *testing.T) {
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) { answerJSON(w, r, text) }),
		func(t *testing.T, s *testServer) {
			header := http.Header{"authorization": {"Bearer x"}, "Host": {"other.example"},
				"mcp-method": {"nothing"}, "Last-Event-ID": {"1"}}
			c, err := client.Connect(t.Context(),
				streamable.Options{HTTP: s.http,
					Header: header}.Dial("http://server.example/mcp?a=b"))
			assert.NilError(t, err)
			defer c.Close()
			for range 2 {
				_, err = c.CallTool(t.Context(), "weather", nil)
				assert.NilError(t, err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			assert.Equal(t, len(s.seen), 3)
			for _, r := range s.seen {
				assert.Equal(t, r.Host, "other.example")
				assert.Equal(t, r.URL.RequestURI(), "/mcp?a=b")
				assert.DeepEqual(t, r.Header["Authorization"], []string{"Bearer x"})
				assert.DeepEqual(t, r.Header["Mcp-Method"], []string{r.message.Method})
				assert.Equal(t, r.Header.Get("Last-Event-Id"), "")
				assert.Equal(t, r.Header.Get("Content-Type"), "application/json")
				assert.Equal(t, r.ContentLength, int64(len(r.body)))
			}
			assert.Equal(t, len(header), 4)
		})
}

// A response may have parameters in its Content-Type and no Content-Length.
func TestJSONResponses(t *testing.T) {
	for kind, want := range map[string]error{"application/json; charset=utf-8": nil,
		"Application/JSON": nil, "application/json": nil, "text/plain": rpc.ErrProtocol} {
		inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
			w.Header().Set("Content-Type", kind)
			w.(http.Flusher).Flush()
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(r.message.ID) + `,"result":` +
				text + `}`))
		}), func(t *testing.T, s *testServer) {
			c := s.connect(t, client.Options{})
			_, err := c.CallTool(t.Context(), "weather", nil)
			assert.ErrorIs(t, err, want)
		})
	}
	// the response to another request
	inBubble(t, modern(func(w http.ResponseWriter, r *recordedRequest) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":12345,"result":` + text + `}`))
	}), func(t *testing.T, s *testServer) {
		c := s.connect(t, client.Options{})
		_, err := c.CallTool(t.Context(), "weather", nil)
		assert.ErrorIs(t, err, rpc.ErrProtocol)
	})
}
