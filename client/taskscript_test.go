package client

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// taskState returns a state of the task T in the form of the extension's tasks/get.
func taskState(status, more string) string {
	return `{"resultType":"complete",` + stateMembers(status, "ttlMs", "pollIntervalMs") + more +
		`}`
}

// oldState does the same for 2025-11-25.
func oldState(status, more string) string {
	return `{` + stateMembers(status, "ttl", "pollInterval") + more + `}`
}

func stateMembers(status, ttl, poll string) string {
	return fmt.Sprintf(
		`"taskId":"T","status":%q,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z",%q:60000,%q:1000`,
		status, ttl, poll)
}

const (
	taskCreated = `{"resultType":"task","taskId":"T","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":1000}`
	oldCreated  = `{"task":{"taskId":"T","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000,"pollInterval":1000}}`
	plain       = `{"content":[]}`
	fine        = `{"resultType":"complete"}`

	discoveredTasks  = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"ttlMs":0,"cacheScope":"private"}`
	initializedTasks = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"scripted","version":"1"}}`
)

// A worker is a scripted server whose calls become the task T. It answers each method with its
// answers in turn, repeats the last one, and records the requests and their times.
type worker struct {
	era     mcp.Era                           // zero is modern
	answers map[string][]string               // results; {"error":…} is an error, "" no response
	meet    func(s *scripted, m message) bool // answers instead, if it is not nil and returns true

	mu    sync.Mutex
	began time.Time
	log   []string // method and time
	heard []message
}

func (w *worker) script(s *scripted) {
	if w.era == mcp.Legacy {
		s.refuse(s.read(), -32601, "Method not found")
		s.reply(s.read(), initializedTasks)
		s.read()
	} else {
		s.reply(s.read(), discoveredTasks)
	}
	w.reset()
	count := map[string]int{}
	for m := s.read(); m.line != ""; m = s.read() {
		w.mu.Lock()
		w.heard = append(w.heard, m)
		w.log = append(w.log, strings.TrimPrefix(m.Method, "notifications/")+"@"+
			time.Since(w.began).String())
		w.mu.Unlock()
		if w.meet != nil && w.meet(s, m) {
			continue
		}
		all := w.answers[m.Method]
		if all == nil {
			all = map[string][]string{
				"tools/call":   {map[mcp.Era]string{0: taskCreated, mcp.Legacy: oldCreated}[w.era]},
				"tasks/update": {fine},
				"tasks/cancel": {
					map[mcp.Era]string{0: fine, mcp.Legacy: oldState("cancelled", "")}[w.era]},
				"tasks/get": {map[mcp.Era]string{0: taskState("working", ""),
					mcp.Legacy: oldState("working", "")}[w.era]}, "tasks/result": {""},
			}[m.Method]
		}
		if m.ID == nil || all == nil {
			continue
		}
		answer := all[min(count[m.Method], len(all)-1)]
		count[m.Method]++
		if answer != "" {
			w.reply(s, m, answer)
		}
	}
}

func (w *worker) reply(s *scripted, m message, answer string) {
	if strings.HasPrefix(answer, `{"error":`) {
		s.send(`{"jsonrpc":"2.0","id":%s,%s`+"\n", m.ID, answer[1:])
	} else {
		s.reply(m, answer)
	}
}

// reset clears the record.
func (w *worker) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log, w.heard, w.began = nil, nil, time.Now()
}

// elapsed returns the time since reset.
func (w *worker) elapsed() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.began)
}

// said returns the recorded methods with their times.
func (w *worker) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.log, " ")
}

// params returns the params of all requests of a method.
func (w *worker) params(method string) (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.heard {
		if m.Method == method {
			all = append(all, string(m.Params))
		}
	}
	return all
}

// connect connects to a worker.
func (w *worker) connect(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := o.Connect(t.Context(), stream(w.script))
	assert.NilError(t, err)
	t.Cleanup(func() { _ = c.Close(); _ = c.Wait() })
	return c
}

func failure(code int, text string) string {
	return fmt.Sprintf(`{"error":{"code":%d,"message":%q}}`, code, text)
}
