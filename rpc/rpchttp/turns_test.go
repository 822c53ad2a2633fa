package rpchttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/rpchttp"
)

// A slowText takes a millisecond of the bubble to be decoded, and keeps its first letter.
type slowText string

func (s *slowText) UnmarshalJSON(text []byte) error {
	time.Sleep(time.Millisecond)
	*s = slowText(text[1:2])
	return nil
}

// The large messages of a sender do not wait for all those that others have sent before.
func TestSendersTakeTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		var router rpc.Router
		var mu sync.Mutex
		var order slowText // of those that are decoded
		rpc.Handle(&router, "m", func(_ context.Context, sent []slowText) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			order += sent[0]
			return 1, nil
		})
		handler := rpchttp.HandlerOptions{}.New(router.Serve)
		send := func(sender, address string) {
			body := `{"jsonrpc":"2.0","id":1,"method":"m","params":["` +
				strings.Repeat(sender, 300<<10) + `"]}`
			r := httptest.NewRequest(http.MethodPost, "http://192.0.2.9/", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.RemoteAddr = address
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, r)
			assert.Check(t, strings.Contains(answer.Body.String(), `"result":1`), answer.Body)
		}
		var running sync.WaitGroup
		for range 6 {
			running.Go(func() { send("a", "192.0.2.1:1") })
			synctest.Wait()
		}
		running.Go(func() { send("b", "192.0.2.2:1") })
		running.Wait()
		at := strings.Index(string(order), "b")
		assert.Assert(t, 0 <= at && at <= 2, order)
	})
}
