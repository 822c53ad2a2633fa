package streamable_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/turn"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server/streamable"
)

// head is that of a request whose body is not that of a client of net/http.
const head = "POST /mcp HTTP/1.1\r\nHost: pipe\r\nContent-Type: application/json\r\n" +
	"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n"

// inBubbleOfTwo is inBubble with two processors, so that four large bodies are read at a time.
func inBubbleOfTwo(t *testing.T, test func(t *testing.T, b *bubble)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	inBubble(t, streamable.Options{}, test)
}

func (b *bubble) memory() *quota.Pool {
	return (*quota.Pool)(b.server.Integration().Options().Memory)
}

// callAll calls the tool echo over n connections, each with a text of a megabyte, and returns a
// function that waits for the answers.
func (b *bubble) callAll(n int) (wait func()) {
	var calls sync.WaitGroup
	body := toolCall("echo", strings.Repeat("x", 1<<20))
	for range n {
		w := b.dial()
		calls.Go(func() {
			a := w.ask("POST", body, modernTool+"echo")
			assert.Check(b.t, cmp.Equal(a.StatusCode, 200))
			text, err := io.ReadAll(a.in)
			assert.Check(b.t, err)
			assert.Check(b.t, len(text) > 2<<20)
			w.Close()
		})
	}
	return calls.Wait
}

// While other work is due, few large bodies are read, whichever clients send them.
func TestLargeBodiesAreReadInTurns(t *testing.T) {
	inBubbleOfTwo(t, func(t *testing.T, b *bubble) {
		line := b.server.Integration().Stateless("", mcp.Latest).HookContext(t.Context())
		release := make(chan struct{})
		for range 2 {
			go turn.Do(line, 1<<20, func() { <-release })
		}
		synctest.Wait()
		wait := b.callAll(20)
		synctest.Wait()
		body := int64(buffer.Capacity(len(toolCall("echo", strings.Repeat("x", 1<<20)))))
		assert.Equal(t, b.memory().Used(), 4*body)
		// small ones, and those of up to 256 KiB, are served meanwhile
		for _, size := range []int{1, 100_000} {
			w := b.dial()
			a := w.ask("POST", toolCall("echo", strings.Repeat("x", size)), modernTool+"echo")
			assert.Equal(t, a.StatusCode, 200)
			_ = a.text()
			w.Close()
		}
		synctest.Wait()
		assert.Equal(t, b.memory().Used(), 4*body)
		close(release)
		wait()
		synctest.Wait()
		assert.Equal(t, b.memory().Used(), int64(0))
	})
}

// Clients that stall in the middle of large bodies delay another one by 10 ms at most each, four at
// a time, and those that send a byte from time to time not at all.
func TestStalledBodiesDelayNobody(t *testing.T) {
	for _, test := range []struct {
		sent  int // at once, by each
		delay time.Duration
	}{{1000, 0}, {200_000, 300 * time.Millisecond}} {
		t.Run(fmt.Sprint(test.sent), func(t *testing.T) {
			inBubbleOfTwo(t, func(t *testing.T, b *bubble) {
				ctx, stop := context.WithCancel(t.Context())
				var slow sync.WaitGroup
				for range 100 {
					w := b.dial()
					context.AfterFunc(ctx, func() { w.Close() })
					slow.Go(func() {
						_, err := io.WriteString(w, head+"Content-Length: 1000000\r\n\r\n"+
							strings.Repeat(" ", test.sent))
						for err == nil {
							time.Sleep(time.Second)
							_, err = w.Write([]byte(" "))
						}
					})
				}
				synctest.Wait()
				begin := time.Now()
				b.callAll(4)()
				assert.Assert(t, time.Since(begin) <= test.delay, "%v", time.Since(begin))
				stop()
				slow.Wait()
				synctest.Wait()
				assert.Equal(t, b.memory().Used(), int64(0))
			})
		})
	}
}

// However a large body ends, its turn ends with it.
func TestLargeBodiesThatFail(t *testing.T) {
	text := strings.Repeat("x", 500_000)
	length := func(n int) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n", n) }
	for name, test := range map[string]struct {
		rest   string
		status int // 0: the client closes the connection
	}{
		"ends early":       {length(1_000_000) + text, 0},
		"chunk ends early": {"Transfer-Encoding: chunked\r\n\r\nfffff\r\n" + text, 0},
		"wrong chunk": {"Transfer-Encoding: chunked\r\n\r\n7a120\r\n" + text +
			"\r\nxyz\r\n", 400},
		"no JSON":             {length(len(text)) + text, 400},
		"longer than it says": {length(len(text)) + toolCall("echo", text), 400},
		"too large, chunked": {"Transfer-Encoding: chunked\r\n\r\nffffff\r\n" +
			strings.Repeat("x", 5<<20), 413},
	} {
		t.Run(name, func(t *testing.T) {
			inBubbleOfTwo(t, func(t *testing.T, b *bubble) {
				begin := time.Now()
				for range 6 {
					w := b.dial()
					sent := make(chan struct{})
					go func() {
						defer close(sent)
						_, _ = io.WriteString(w, head+test.rest) // as much as the server reads
						if test.status == 0 {
							w.Close()
						}
					}()
					if test.status != 0 {
						assert.Equal(t, w.answer().StatusCode, test.status)
						w.Close()
					}
					<-sent
				}
				synctest.Wait()
				b.callAll(4)()
				assert.Equal(t, time.Since(begin), time.Duration(0))
				synctest.Wait()
				assert.Equal(t, b.memory().Used(), int64(0))
				time.Sleep(time.Second) // net/http waits for those who have sent too much
			})
		})
	}
}
