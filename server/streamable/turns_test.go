package streamable_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/inflight"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A slowText counts how many of its values are being decoded.
type slowText string

var slowTexts inflight.Count

func (s *slowText) UnmarshalJSON(text []byte) error {
	defer slowTexts.Begin()()
	time.Sleep(time.Millisecond) // of the bubble
	return json.Unmarshal(text, (*string)(s))
}

// The arguments of large calls are decoded on as many processors as there are, whichever handler or
// stream of a server they come from. Their functions wait together.
func TestLargeCallsTakeTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const calls, streamed = 9, 3
	largeCall := modernCall("tools/call", `"name":"length","arguments":{"Text":"`+
		strings.Repeat("x", 300<<10)+`"},`)
	synctest.Test(t, func(t *testing.T) {
		s := server.New(server.Info{Name: "t", Version: "1"}, nil)
		started, all := make(chan struct{}, calls), make(chan struct{})
		server.AddTool(s, mcp.Tool{Name: "length", InputSchema: []byte(`{"type":"object"}`)},
			func(_ context.Context, in struct{ Text slowText }) (int, error) {
				started <- struct{}{}
				<-all
				return len(in.Text), nil
			})
		handlers := []*streamable.Handler{streamable.Options{}.New(s), streamable.Options{}.New(s)}
		var running sync.WaitGroup
		client, stream := net.Pipe()
		running.Go(func() { assert.Check(t, s.Serve(t.Context(), stream)) })
		running.Go(func() {
			lines := bufio.NewScanner(client)
			for range streamed {
				assert.Check(t, lines.Scan())
				assert.Check(t, strings.Contains(lines.Text(), "307200"), lines.Text())
			}
			client.Close()
		})
		for id := range streamed {
			body := strings.Replace(largeCall, `"id":1`, fmt.Sprintf(`"id":%d`, id), 1)
			_, err := io.WriteString(client, body+"\n")
			assert.NilError(t, err)
		}
		for i := range calls - streamed {
			running.Go(func() {
				r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/",
					strings.NewReader(largeCall))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				r.Header.Set("MCP-Protocol-Version", string(mcp.Latest))
				r.Header.Set("Mcp-Method", "tools/call")
				r.Header.Set("Mcp-Name", "length")
				answer := httptest.NewRecorder()
				handlers[i%len(handlers)].ServeHTTP(answer, r)
				assert.Check(t, strings.Contains(answer.Body.String(), "307200"), answer.Body.String())
			})
		}
		for range calls {
			<-started
		}
		close(all)
		running.Wait()
		for _, h := range handlers {
			h.Close()
		}
	})
	assert.Equal(t, slowTexts.Most(), 2)
}
