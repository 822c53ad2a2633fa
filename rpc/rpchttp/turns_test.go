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

// A slowText takes a millisecond of the bubble to be decoded.
type slowText struct{}

func (*slowText) UnmarshalJSON([]byte) error {
	time.Sleep(time.Millisecond)
	return nil
}

// The large messages of a sender do not wait for all those that others have sent before.
func TestSendersTakeTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		var router rpc.Router
		rpc.Handle(&router, "m", func(context.Context, []slowText) (int, error) { return 1, nil })
		handler := rpchttp.HandlerOptions{}.New(router.Serve)
		body := `{"jsonrpc":"2.0","id":1,"method":"m","params":["` +
			strings.Repeat("x", 300<<10) + `"]}`
		var mu sync.Mutex
		var order string
		send := func(sender, address string) {
			r := httptest.NewRequest(http.MethodPost, "http://192.0.2.9/", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.RemoteAddr = address
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, r)
			assert.Check(t, strings.Contains(answer.Body.String(), `"result":1`), answer.Body)
			mu.Lock()
			defer mu.Unlock()
			order += sender
		}
		var running sync.WaitGroup
		for range 6 {
			running.Go(func() { send("a", "192.0.2.1:1") })
			synctest.Wait()
		}
		running.Go(func() { send("b", "192.0.2.2:1") })
		running.Wait()
		at := strings.Index(order, "b")
		assert.Assert(t, 0 <= at && at <= 2, order)
	})
}
