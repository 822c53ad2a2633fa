//go:build linux

package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// servedBy is a round tripper that notes which replicas have answered, with which statuses.
type servedBy struct {
	http.RoundTripper

	mu       sync.Mutex
	by       []string
	statuses map[int]int
}

func (s *servedBy) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		tried := strings.Split(response.Header.Get("X-Served-By"), ", ")
		s.by = append(s.by, tried[len(tried)-1])
		s.statuses[response.StatusCode]++
	}
	return response, err
}

// since returns the replicas that have answered after the first n responses, and how many responses
// there are.
func (s *servedBy) since(n int) (by []string, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(s.by[n:]))), len(s.by)
}

// A session has a browser, and another server, to itself behind three replicas. Each replica that
// its requests reach finds the page that is open, and what the other server has counted. When the
// replica that has them is killed, a later call has new ones, and the client notices nothing else.
func TestReplicasWithServersOfSessions(t *testing.T) {
	t.Parallel()
	b := newNodeBench(t)
	browser := chromium(t)
	page := keptOpenPage(t)
	chrome, counts := chromeCommand(browser), fixture(t)
	g := newGateways(t, b, 3, map[string]configured{
		"chrome": {Command: chrome[0], Args: chrome[1:], Env: map[string]string{"TMPDIR": b.dir,
			"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS": "1"}},
		"counts": {Command: counts[0], Args: counts[1:],
			Env: map[string]string{"GORACE": "atexit_sleep_ms=0"}},
	})
	served := &servedBy{statuses: map[int]int{}}
	c, err := client.Options{Era: mcp.Legacy}.Connect(t.Context(), streamable.Options{
		Wrap: func(inner http.RoundTripper) http.RoundTripper {
			served.RoundTripper = inner
			return served
		}}.Dial(g.url))
	assert.NilError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	first, _ := served.since(0)
	owner := slices.Index(g.addresses, first[0])
	assert.Assert(t, owner >= 0, "%v", first)
	call := func(tool string, arguments any, o ...client.CallOption) string {
		t.Helper()
		result, err := c.CallTool(t.Context(), tool, arguments, o...)
		assert.NilError(t, err, tool)
		text := result.Content[0].(*mcp.TextContent).Text
		assert.Assert(t, !result.IsError, "%s: %.300s", tool, text)
		return text
	}
	use := func(replicas int) {
		t.Helper()
		call("chrome__new_page", map[string]any{"url": page.URL})
		_, begun := served.since(0)
		for n := range 2 * len(g.addresses) {
			pages := call("chrome__list_pages", nil)
			assert.Assert(t, strings.Contains(pages, "Kept open"), "%s", pages)
			grown := call("counts__grow", nil)
			assert.Assert(t, strings.Contains(grown, fmt.Sprintf(`"n":%d`, n+1)), "%s", grown)
		}
		by, _ := served.since(begun)
		assert.Assert(t, len(by) >= replicas, "%v", by)
	}
	use(3)
	for range g.addresses {
		const size = 8<<20 - 1<<10 // what is around it counts too
		text := call("chrome__evaluate_script", map[string]any{"pageId": 2,
			"function": fmt.Sprintf("() => 'x'.repeat(%d)", size)})
		assert.Assert(t, strings.Count(text, "x") >= size, "%d bytes: %.200s", len(text), text)
		var progress []float64
		call("counts__steps", nil, client.OnProgress(func(p mcp.ProgressParams) {
			progress = append(progress, p.Progress)
		}))
		assert.Assert(t, len(progress) > 0 && progress[len(progress)-1] == 2, "%v", progress)
	}
	// A call that has begun is cancelled by whatever replica.
	for n := range g.addresses {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.CallTool(ctx, "counts__block", nil, client.OnProgress(
			func(mcp.ProgressParams) { cancel() }))
		assert.ErrorIs(t, err, context.Canceled)
		eventually.True(t, "the server hears of the cancellation", func() bool {
			return strings.Contains(call("counts__ended", nil), fmt.Sprintf(`"n":%d`, n+1))
		})
	}

	g.end(owner, syscall.SIGKILL)
	// A call waits until the lease of the owner has ended. In the first minute of the store, the
	// owner might not have put it back yet: the client is told to try again.
	for killed := time.Now(); ; time.Sleep(time.Second) {
		_, err := c.CallTool(t.Context(), "chrome__list_pages", nil)
		if err == nil {
			t.Logf("the session has a new browser after %v", time.Since(killed))
			break
		}
		refused, ok := errors.AsType[*rpc.Error](err)
		assert.Assert(t, ok && refused.Code == rpc.CodeBusy, "%v", err)
		assert.Assert(t, time.Since(killed) < 2*time.Minute, "%v", err)
	}
	use(2) // the one that was killed is not there
	served.mu.Lock()
	statuses := maps.Clone(served.statuses)
	served.mu.Unlock()
	assert.Assert(t, statuses[404] == 0 && statuses[409] == 0, "%v", statuses)
	t.Log(statuses)
	assert.NilError(t, c.Close())
}
