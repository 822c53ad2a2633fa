package rpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stdwire/stdwire/internal/inflight"
	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// largeText is a text of params that makes a message large.
var largeText = strings.Repeat("x", 300<<10)

// largeRequest returns a request with large params.
func largeRequest(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":["` + largeText + `"]}`
}

// A slowText counts how many of its values are being decoded or encoded.
type slowText string

var slowTexts inflight.Count

func slowly(work func() error) error {
	defer slowTexts.Begin()()
	time.Sleep(time.Millisecond) // of the bubble
	return work()
}

func (s *slowText) UnmarshalJSON(text []byte) error {
	return slowly(func() error { return json.Unmarshal(text, (*string)(s)) })
}

func (s slowText) MarshalJSON() (text []byte, err error) {
	err = slowly(func() (err error) { text, err = json.Marshal(string(s)); return err })
	return text, err
}

// Large messages are decoded and encoded on as many processors as there are, in the order of their
// arrival, and the reader reads no more of them than are useful.
func TestLargeMessagesTakeTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const calls = 30
	var router rpc.Router
	started := make(chan struct{}, calls)
	rpc.Handle(&router, "echo", func(_ context.Context, in []slowText) ([]slowText, error) {
		started <- struct{}{}
		return in, nil
	})
	var ahead, mostLate int
	synctest.Test(t, func(t *testing.T) {
		in, to := io.Pipe()
		from, out := io.Pipe()
		peer := rpc.Options{Handler: router.Serve}.New(duplex{in, out, in})
		sent, received := make(chan struct{}, calls), 0
		go func() {
			for i := range calls {
				synctest.Wait() // for the handlers, so that the reader is not ahead of them
				_, _ = io.WriteString(to, largeRequest(strconv.Itoa(i), "echo")+"\n")
				sent <- struct{}{}
			}
		}()
		lines := bufio.NewReader(from)
		for received < calls {
			line, err := lines.ReadString('\n')
			assert.NilError(t, err)
			var response struct{ ID int }
			assert.NilError(t, json.Unmarshal([]byte(line), &response))
			late := response.ID - received
			mostLate = max(mostLate, late, -late)
			received++
			ahead = max(ahead, len(sent)-received)
		}
		peer.Close()
		assert.NilError(t, peer.Wait())
	})
	assert.Equal(t, len(started), calls)
	assert.Equal(t, slowTexts.Most(), 2)
	assert.Assert(t, mostLate <= 5, "a response came %d places from its own", mostLate)
	// two that are decoded or encoded, one that waits, one that is written and one that is read
	assert.Assert(t, ahead <= 8, "%d at once", ahead)
}

// A peer reads no more large requests than are useful while the other side is slow to read.
func TestUnreadResponsesStopTheReader(t *testing.T) {
	const calls = 30
	most := 0
	synctest.Test(t, func(t *testing.T) {
		in, to := io.Pipe()
		from, out := io.Pipe()
		o := rpc.Options{Handler: parrot}
		o.Limits.MaxUnsent = len(largeText)
		peer := o.New(duplex{in, out, in})
		var sent, taken atomic.Int32
		lines := bufio.NewReader(from)
		for received := range int32(calls) {
			for sent.Load() < calls && sent.Load() == taken.Load() { // until the reader waits
				go func() {
					_, _ = io.WriteString(to, largeRequest(fmt.Sprint(sent.Add(1)), "m")+"\n")
					taken.Add(1)
				}()
				synctest.Wait() // also for the handler, so that the reader is not ahead of it
			}
			most = max(most, int(taken.Load()-received))
			_, err := lines.ReadString('\n')
			assert.NilError(t, err)
			synctest.Wait()
		}
		peer.Close()
		assert.NilError(t, peer.Wait())
	})
	// one is written, one is queued, one waits, and one is held
	assert.Assert(t, most <= 8, "%d at once", most)
}

// The other side may write all requests before it reads a response.
func TestAllRequestsBeforeResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, to := io.Pipe()
		from, out := io.Pipe()
		peer := rpc.Options{Handler: parrot}.New(duplex{in, out, in})
		begin := time.Now()
		for i := range 20 {
			_, err := io.WriteString(to, largeRequest(strconv.Itoa(i), "m")+"\n")
			assert.NilError(t, err)
		}
		assert.Assert(t, time.Since(begin) < time.Second, "%v", time.Since(begin))
		lines := bufio.NewReader(from)
		for range 20 {
			line, err := lines.ReadString('\n')
			assert.NilError(t, err)
			assert.Assert(t, !strings.Contains(line[:100], "error"), "%.100s", line)
		}
		peer.Close()
		assert.NilError(t, peer.Wait())
	})
}

// Handlers of large requests that block delay neither large nor small ones.
func TestBlockedLargeHandlers(t *testing.T) {
	const blocked = 20
	var s stage
	onWire(t, rpc.Options{Handler: s.handle}, func(t *testing.T, w *wire) {
		close(s.gate("quick"))
		begin := time.Now()
		for i := range blocked {
			w.send(largeRequest(strconv.Itoa(i), "blocked"))
		}
		w.send(request("98", "quick"), largeRequest("99", "quick"), request("100", "quick"))
		w.expectUnordered(result("98", `"quick"`), result("99", `"quick"`),
			result("100", `"quick"`))
		assert.Equal(t, len(s.seen()), blocked+3)
		assert.Equal(t, time.Since(begin), time.Duration(0))
	})
}

// A handler of a large request may wait for a call, or for a request that is sent later.
func TestLargeHandlersThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		all := make(chan struct{})
		const calls = 12
		answer := func(context.Context, *rpc.Request) (any, error) {
			if asked.Add(1) == calls {
				close(all)
			}
			<-all // until every handler has asked
			return 1, nil
		}
		var router rpc.Router
		rpc.Handle(&router, "ask", func(ctx context.Context, _ []string) (n int, err error) {
			return n, rpc.PeerFromContext(ctx).Call(ctx, "answer", []string{largeText}, &n)
		})
		client, _ := pair(t, rpc.Options{Handler: answer}, rpc.Options{Handler: router.Serve})
		begin := time.Now()
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() { assert.Check(t, client.Call(t.Context(), "ask", []string{largeText}, nil)) })
		}
		wg.Wait()
		assert.Equal(t, time.Since(begin), time.Duration(0))
	})
}

// Two peers call each other with large params and results at the same time, from handlers too.
func TestLargeCallsBothWays(t *testing.T) {
	for _, depth := range []int{0, 2} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			text := []string{largeText}
			var handler rpc.Handler = func(ctx context.Context, req *rpc.Request) (any, error) {
				if depth := req.Method[0] - '0'; depth > 0 {
					next := string(rune('0' + depth - 1))
					return text, req.Peer().Call(ctx, next, text, nil)
				}
				return text, nil
			}
			o := rpc.Options{Handler: handler}
			left, right := pair(t, o, o)
			var wg sync.WaitGroup
			for range 3 {
				for _, p := range []*rpc.Peer{left, right} {
					wg.Go(func() {
						for range 2 {
							assert.Check(t, p.Call(t.Context(), string(rune('0'+depth)), text, nil))
						}
					})
				}
			}
			wg.Wait()
		})
	}
}

// The end of the connection and a shutdown end the wait of the reader.
func TestEndWhileTheReaderWaits(t *testing.T) {
	for name, end := range map[string]func(*rpc.Peer) error{
		"close": (*rpc.Peer).Close,
		"shutdown": func(p *rpc.Peer) error {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = p.Shutdown(ctx)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, to := io.Pipe()
				_, out := io.Pipe()
				peer := rpc.Options{Handler: parrot}.New(duplex{in, out, in})
				waits := false
				for i := 0; !waits && i < 57; i++ {
					var taken atomic.Bool
					go func() {
						_, _ = io.WriteString(to, largeRequest(strconv.Itoa(i), "m")+"\n")
						taken.Store(true)
					}()
					synctest.Wait() // also for the handler, so that the reader is not ahead of it
					waits = !taken.Load()
				}
				assert.Assert(t, waits)
				begin := time.Now()
				assert.NilError(t, end(peer))
				assert.NilError(t, peer.Wait())
				assert.Assert(t, time.Since(begin) <= 250*time.Millisecond)
				to.Close()
			})
		})
	}
}
