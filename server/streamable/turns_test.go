package streamable_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
	"github.com/stdwire/stdwire/server/streamable"
)

// A slowText counts how many of its values are being decoded.
type slowText string

var slowTexts struct {
	sync.Mutex
	now, most int
}

func (s *slowText) UnmarshalJSON(text []byte) error {
	slowTexts.Lock()
	slowTexts.now++
	slowTexts.most = max(slowTexts.most, slowTexts.now)
	slowTexts.Unlock()
	time.Sleep(time.Millisecond) // of the bubble
	slowTexts.Lock()
	slowTexts.now--
	slowTexts.Unlock()
	return json.Unmarshal(text, (*string)(s))
}

// The arguments of large calls are decoded on as many processors as there are. Their functions wait
// together.
func TestLargeCallsTakeTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const calls = 8
	synctest.Test(t, func(t *testing.T) {
		s := server.New(server.Info{Name: "t", Version: "1"}, nil)
		started, all := make(chan struct{}, calls), make(chan struct{})
		server.AddTool(s, mcp.Tool{Name: "length", InputSchema: []byte(`{"type":"object"}`)},
			func(_ context.Context, in struct{ Text slowText }) (int, error) {
				started <- struct{}{}
				<-all
				return len(in.Text), nil
			})
		handler := streamable.Options{}.New(s)
		var running sync.WaitGroup
		for range calls {
			running.Go(func() {
				body := modernCall("tools/call", `"name":"length","arguments":{"Text":"`+
					strings.Repeat("x", 300<<10)+`"},`)
				r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				r.Header.Set("MCP-Protocol-Version", string(mcp.Latest))
				r.Header.Set("Mcp-Method", "tools/call")
				r.Header.Set("Mcp-Name", "length")
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, r)
				assert.Check(t, strings.Contains(answer.Body.String(), "307200"), answer.Body.String())
			})
		}
		for range calls {
			<-started
		}
		close(all)
		running.Wait()
		handler.Close()
	})
	assert.Equal(t, slowTexts.most, 2)
}
