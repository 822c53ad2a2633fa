//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// A webPage is the API of a page of stdwire web.
type webPage struct {
	t         *testing.T
	base, key string
	changes   *bufio.Reader // what the page is told of changes
}

func openWebPage(t *testing.T, args ...string) *webPage {
	t.Helper()
	cmd, _, stderr := stdwire(t, append([]string{"web"}, args...)...)
	cmd.Stdout = nil
	r, err := cmd.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(r).ReadString('\n')
	assert.NilError(t, err, stderr)
	base, token, ok := strings.Cut(strings.TrimSpace(line), "/#token=")
	assert.Assert(t, ok, line)
	p := &webPage{t: t, base: base}
	var session struct{ Key string }
	assert.Equal(t, p.do("POST", "/session", map[string]any{"token": token}, &session), 200)
	p.key = session.Key
	changes := p.send("GET", "/api/changes", nil)
	t.Cleanup(func() { _ = changes.Body.Close() })
	p.changes = bufio.NewReader(changes.Body)
	return p
}

// until waits until something holds, which it tries after each change.
func (p *webPage) until(holds func() bool) {
	p.t.Helper()
	for !holds() {
		for line := ""; line == "" || line == "\n"; {
			var err error
			line, err = p.changes.ReadString('\n')
			assert.NilError(p.t, err)
		}
	}
}

func (p *webPage) send(method, path string, in any) *http.Response {
	p.t.Helper()
	text, err := json.Marshal(in)
	assert.NilError(p.t, err)
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, bytes.NewReader(text))
	assert.NilError(p.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+p.key)
	answer, err := http.DefaultClient.Do(r)
	assert.NilError(p.t, err)
	return answer
}

// do sends a request and returns the status of its answer, which it decodes.
func (p *webPage) do(method, path string, in, out any) (status int) {
	p.t.Helper()
	answer := p.send(method, path, in)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	assert.NilError(p.t, err)
	if out != nil {
		assert.NilError(p.t, json.Unmarshal(text, out), "%s", text)
	}
	return answer.StatusCode
}

// call calls a method and waits for its result.
func (p *webPage) call(server, method string, params any) string {
	p.t.Helper()
	var started struct{ ID json.Number }
	status := p.do("POST", "/api/calls",
		map[string]any{"server": server, "method": method, "params": params}, &started)
	assert.Equal(p.t, status, 200)
	var now struct {
		Running bool
		Result  json.RawMessage
		Error   json.RawMessage
	}
	p.until(func() bool {
		assert.Equal(p.t, p.do("GET", "/api/calls/"+started.ID.String(), nil, &now), 200)
		return !now.Running
	})
	return string(now.Result) + string(now.Error)
}

// states returns the states of the servers.
func (p *webPage) states() map[string]string {
	p.t.Helper()
	var servers []struct{ ID, State string }
	assert.Equal(p.t, p.do("GET", "/api/servers", nil, &servers), 200)
	states := map[string]string{}
	for _, s := range servers {
		states[s.ID] = s.State
	}
	return states
}

// The page of a running gateway calls what the gateway offers, and stops and starts its servers.
func TestWebGateway(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	dir := ownRuntime(t)
	audit := dir + "/audit.jsonl"
	g := serving(t, obj{"hand": good()}, "--no-auth", "--audit", audit)
	p := openWebPage(t, "--gateway")
	gateway := "gateway-" + g.pid
	assert.Assert(t, cmp.Contains(p.call(gateway, "tools/list", obj{}), "hand__echo"))
	got := p.call(gateway, "tools/call",
		map[string]any{"name": "hand__echo", "arguments": obj{"text": "by the page"}})
	assert.Assert(t, cmp.Contains(got, "by the page"))
	p.until(func() bool { // the line may be written after the response
		text, err := os.ReadFile(audit)
		assert.NilError(t, err)
		return strings.Contains(string(text), `"server":"hand","tool":"echo"`)
	})
	p.until(func() bool { return p.states()["hand"] == "ready" })

	act := func(action string) int {
		t.Helper()
		return p.do("POST", "/api/servers/hand/do/"+action, struct{}{}, nil)
	}
	assert.Equal(t, act("stop"), 200)
	p.until(func() bool {
		return strings.Contains(p.call(gateway, "tools/list", obj{}), "hand__echo")
	})
	assert.Equal(t, p.states()["hand"], "stopped")
	assert.Equal(t, act("start"), 200)
	assert.Equal(t, act("restart"), 200)
	assert.Equal(t, act("disable"), 200)
	assert.Equal(t, p.states()["hand"], "disabled")
	got = p.call(gateway, "tools/call", map[string]any{"name": "hand__echo"})
	assert.Assert(t, cmp.Contains(got, "hand__echo"))
	assert.Assert(t, !strings.Contains(got, "by the page"))
	assert.Equal(t, act("enable"), 200)
	assert.Equal(t, act("erase"), 404)

	// The page shows its own calls once, in the lane of the gateway.
	lanes := map[string]bool{}
	p.until(func() bool {
		var traffic struct{ Messages []struct{ Lane string } }
		assert.Equal(t, p.do("GET", "/api/traffic", nil, &traffic), 200)
		for _, m := range traffic.Messages {
			lanes[m.Lane] = true
		}
		return lanes["hand"]
	})
	assert.DeepEqual(t, lanes, map[string]bool{gateway: true, "hand": true})
}
