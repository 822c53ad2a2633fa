//go:build unix

package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/host/gateway"
	"github.com/stdwire/stdwire/internal/quota"
)

// newHook is a hook that runs a script.
func newHook(script string, log *bytes.Buffer) *hook {
	return &hook{words: []string{"sh", "-c", script}, log: slog.New(slog.NewTextHandler(log, nil)),
		timeout: 5 * time.Minute, running: quota.NewPool(maxRunning)}
}

// A command has the variables of this program, but for credentials of registries and proxies.
func TestHooksInheritNoCredentials(t *testing.T) {
	t.Setenv("UV_PUBLISH_TOKEN", "s3cret")
	t.Setenv("https_proxy", "http://ada:s3cret@proxy.example")
	t.Setenv("POLICY", "strict")
	e := gateway.Event{Server: "files", Tool: "read", Arguments: json.RawMessage(`{}`)}
	err := newHook(`printf '{"deny":"%s %s %s"}' "$POLICY" "$UV_PUBLISH_TOKEN" "$https_proxy"`,
		new(bytes.Buffer)).intercept(t.Context(), &e)
	assert.ErrorContains(t, err, "strict  http://proxy.example")
}

// What a command does decides what becomes of the call. Whatever it was not told to do refuses it.
func TestHooks(t *testing.T) {
	for _, tt := range []struct {
		script    string
		arguments string // afterwards
		err       string
	}{
		{`cat >/dev/null`, `{"a": 1}`, ""},
		{`exit 0`, `{"a": 1}`, ""},
		{`echo; echo {}`, `{"a": 1}`, ""},
		{`echo '{"arguments":{"b": 2}}'`, `{"b": 2}`, ""},
		{`sed 's/.*"arguments":{\(.*\)}}$/{"arguments":{\1,"more":true}}/'`, `{"a": 1,"more":true}`,
			""},
		{`grep -q '^{"phase":"before","server":"files","tool":"read","arguments":{"a": 1}}$'`,
			`{"a": 1}`, ""},
		{`head -c 33000000 /dev/zero | tr '\0' ' '`, `{"a": 1}`, ""},
		{`sleep 600 & exit 0`, `{"a": 1}`, ""},
		{`echo '{"deny":"not on \"Sundays\""}'`, "", `not on "Sundays"`},
		{`echo '{"deny":"","arguments":{}}'`, "", `the hook gives no reason`},
		{`echo '{"arguments":{}}'; exit 3`, "", "failed: exited with status 3"},
		{`kill -9 $$`, "", "failed: ended by signal: killed"},
		{`echo '{"deny":true}'`, "", "the deny of its answer is not a string"},
		{`echo '{"denied":"no"}'`, "",
			`its answer must have one member, arguments or deny, and has "denied"`},
		{`echo '{"result":{}}'`, "", `and has "result"`},
		{`echo '{"arguments":{},"arguments":{}}'`, "", `and has "arguments"`},
		{`echo '{"arguments":'`, "", "its answer is not JSON: "},
		{`echo '{} {}'`, "", "its answer is not JSON: "},
		{`echo no`, "", "its answer is not JSON: "},
		{`echo '[]'`, "", "its answer is not a JSON object"},
		{`cat /dev/zero`, "", "its answer has more than 33554432 bytes"},
	} {
		var log bytes.Buffer
		e := gateway.Event{Server: "files", Tool: "read", Arguments: json.RawMessage(`{"a": 1}`)}
		err := newHook(tt.script, &log).intercept(t.Context(), &e)
		if tt.arguments != "" {
			assert.NilError(t, err, tt.script)
			assert.Equal(t, string(e.Arguments), tt.arguments, tt.script)
			continue
		}
		assert.Assert(t, err != nil, tt.script)
		assert.Assert(t, cmp.Contains(err.Error(), tt.err), tt.script)
		assert.Equal(t, log.Len() > 0, strings.Contains(err.Error(), "failed: "), tt.script)
	}
}

func TestHookAfter(t *testing.T) {
	var log bytes.Buffer
	e := gateway.Event{Server: "files", Tool: "read", Arguments: json.RawMessage(`{"a":1}`),
		Result: json.RawMessage(`{"content":[]}`)}
	seen := filepath.Join(t.TempDir(), "seen")
	h := newHook(`cat >"$1"; echo secret >&2; echo '{"result":{"x":1}}'`, &log)
	h.words = append(h.words, "sh", seen)
	assert.NilError(t, h.intercept(t.Context(), &e))
	assert.Equal(t, string(e.Result), `{"x":1}`)
	text, err := os.ReadFile(seen)
	assert.NilError(t, err)
	assert.Equal(t, string(text),
		`{"phase":"after","server":"files","tool":"read","result":{"content":[]}}`+"\n")
	assert.Assert(t, cmp.Contains(log.String(), "stderr=secret"))
	assert.ErrorContains(t, newHook(`echo '{"arguments":{}}'`, &log).intercept(t.Context(), &e),
		`and has "arguments"`)

	// more than a pipe takes, in both directions
	e.Result = json.RawMessage(`{"x":"` + strings.Repeat("x", 16<<20) + `"}`)
	n := len(e.Result)
	assert.NilError(t,
		newHook(`printf '{'; sed 's/.*"tool":"read",//'`, &log).intercept(t.Context(), &e))
	assert.Equal(t, len(e.Result), n)
}

// A command that does not answer is killed, with all that it has started.
func TestHookIsKilled(t *testing.T) {
	for _, tt := range []struct {
		script string
		cancel bool
	}{
		{`sleep 600 & echo $! >"$1"; wait`, false},
		{`trap '' TERM; sleep 600 & echo $! >"$1"; exec 1>&-; wait`, false},
		{`sleep 600 & echo $! >"$1"; wait`, true},
	} {
		var log bytes.Buffer
		file := filepath.Join(t.TempDir(), "pid")
		h := newHook(tt.script, &log)
		h.words, h.timeout = append(h.words, "sh", file), 2*time.Second
		ctx, cancel := context.WithCancel(t.Context())
		if tt.cancel {
			h.timeout = time.Minute
			time.AfterFunc(time.Second, cancel)
		}
		e := gateway.Event{Server: "files", Tool: "read", Arguments: json.RawMessage(`{}`)}
		err := h.intercept(ctx, &e)
		cancel()
		if tt.cancel {
			assert.ErrorIs(t, err, context.Canceled)
		} else {
			assert.ErrorContains(t, err,
				`the hook "sh" failed: it did not answer within 2s`)
		}
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		var pid int
		assert.NilError(t, json.Unmarshal(bytes.TrimSpace(text), &pid))
		for began := time.Now(); syscall.Kill(pid, 0) == nil; {
			assert.Assert(t, time.Since(began) < 10*time.Second, "process %d lives on", pid)
		}
	}
}

func TestHookThatIsNotThere(t *testing.T) {
	var log bytes.Buffer
	h := newHook("", &log)
	h.words = []string{"no-such-program-anywhere"}
	err := h.intercept(t.Context(), &gateway.Event{Arguments: json.RawMessage(`{}`)})
	assert.ErrorContains(t, err, `cannot start "no-such-program-anywhere"`)
}
