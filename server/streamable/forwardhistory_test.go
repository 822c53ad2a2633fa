package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Whatever breaks between replicas and their store, no call runs twice, no live session is said to
// have ended, a session has no two owners at a time, and all goes on when nothing is broken.
func TestForwardingHistories(t *testing.T) {
	for seed := range uint64(10) {
		inBubbleOfReplicas(t, 3, func(t *testing.T, all []*lostReplica) {
			random := rand.New(rand.NewPCG(seed, 3))
			var mu sync.Mutex
			runs := map[string]int{}
			running := map[int]int{} // calls by replica
			for i, r := range all {
				assert.NilError(t, r.server.AddRawTool(server.RawTool{Tool: mcp.Tool{Name: "once"},
					Call: func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult,
						error) {
						mu.Lock()
						runs[string(arguments)]++
						running[i]++
						for other, n := range running {
							assert.Check(t, other == i || n == 0, "seed %d: at %d and %d", seed, i,
								other)
						}
						pause := time.Duration(len(runs)*977%4000) * time.Millisecond
						mu.Unlock()
						select {
						case <-time.After(pause):
						case <-ctx.Done():
						}
						mu.Lock()
						running[i]--
						mu.Unlock()
						return &mcp.CallToolResult{}, nil
					}}))
			}
			time.Sleep(2 * time.Minute)
			session := all[0].connect("2025-06-18")
			var calls sync.WaitGroup
			call := func(r *lostReplica, id int) (status int) {
				w := r.bubble.dial()
				defer w.Close()
				w.send("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"once","arguments":{"id":%[1]d}}}`,
					id), session+"\n"+onlyJSON)
				a, err := http.ReadResponse(w.in, nil)
				if err != nil {
					return 0 // it was broken off
				}
				assert.Check(t, a.StatusCode != 404, "seed %d: call %d", seed, id)
				return a.StatusCode
			}
			ids := 0
			for range 120 {
				r := all[random.IntN(3)]
				switch random.IntN(12) {
				case 0:
					r.store.cut.Store(true)
				case 1:
					r.cutOff()
				case 2, 3:
					r.store.cut.Store(false)
					r.setDial(nil)
				case 4:
					r.setDial(func(net.Conn) (net.Conn, error) { return nil, errCut })
				case 5:
					write := random.IntN(2) == 0
					r.setDial(func(c net.Conn) (net.Conn, error) { return badConn{c, write}, nil })
				default:
					id := ids
					if ids++; random.IntN(3) == 0 {
						id -= random.IntN(min(ids, 8)) // again, while its claim lasts
					}
					calls.Go(func() { call(r, id) })
				}
				time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
			}
			for _, r := range all {
				r.store.cut.Store(false)
				r.setDial(nil)
			}
			calls.Wait()
			time.Sleep(30 * time.Second)
			for i, r := range all {
				assert.Equal(t, call(r, 1000+i), 200, "seed %d", seed)
			}
			mu.Lock()
			defer mu.Unlock()
			for id, n := range runs {
				assert.Check(t, n == 1, "seed %d: %s ran %d times", seed, id, n)
			}
			assert.Check(t, len(runs) > 0, "seed %d: %d calls ran", seed, len(runs))
		})
	}
}
