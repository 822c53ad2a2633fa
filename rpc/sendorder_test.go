package rpc_test

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stdwire/stdwire/rpc"
	"gotest.tools/v3/assert"
)

// Responses that wait for room are written in the order in which they began to wait, and before
// those that come later.
func TestResponsesWaitInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, to := io.Pipe()
		from, out := io.Pipe()
		var s stage
		peer := rpc.Options{Handler: s.handle,
			Limits: rpc.Limits{MaxUnsent: 1}}.New(duplex{in, out, in})
		const n = 40
		order := make([]int, n)
		for i := range n {
			order[i] = i * 7 % n
			_, err := io.WriteString(to, request(strconv.Itoa(i), "m"+strconv.Itoa(i))+"\n")
			assert.NilError(t, err)
		}
		for _, i := range order[:n-1] {
			close(s.gate("m" + strconv.Itoa(i)))
			synctest.Wait() // it is written, queued, or waits
		}
		lines := bufio.NewScanner(from)
		for place, i := range order {
			assert.Assert(t, lines.Scan())
			assert.Equal(t, lines.Text(), result(strconv.Itoa(i), `"m`+strconv.Itoa(i)+`"`))
			if place == 1 { // it arrives when there is room perhaps
				close(s.gate("m" + strconv.Itoa(order[n-1])))
			}
		}
		peer.Close()
		assert.NilError(t, peer.Wait())
	})
}

// A sender that gives up lets the next one have its turn.
func TestSenderGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, _ := io.Pipe()
		from, out := io.Pipe()
		peer := rpc.Options{Limits: rpc.Limits{MaxUnsent: 1}}.New(duplex{in, out, in})
		sent := make(chan string, 10)
		cancels := map[string]context.CancelFunc{}
		for _, method := range []string{"a", "b", "c", "d", "e"} {
			ctx, cancel := context.WithCancel(t.Context())
			cancels[method] = cancel
			go func() {
				if peer.Notify(ctx, method, nil) == nil {
					sent <- method
				}
			}()
			synctest.Wait()
		}
		cancels["c"]() // the first that waits
		synctest.Wait()
		lines := bufio.NewScanner(from)
		for _, want := range []string{"a", "b", "d", "e"} {
			assert.Assert(t, lines.Scan())
			assert.Equal(t, lines.Text(), note(want))
		}
		synctest.Wait()
		close(sent)
		// The wire has shown the order; a sender may go on after the next one does.
		assert.DeepEqual(t, slices.Sorted(func(yield func(string) bool) {
			for m := range sent {
				yield(m)
			}
		}), []string{"a", "b", "d", "e"})
		for _, cancel := range cancels {
			cancel()
		}
		peer.Close()
		assert.NilError(t, peer.Wait())
	})
}
