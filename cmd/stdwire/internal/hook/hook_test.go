//go:build unix

package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/poll"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/server"
)

// scriptHook is a hook that runs a script for each call, with $1 and so on.
func scriptHook(script string, log *bytes.Buffer, args ...string) *hook {
	h := newProcess(append([]string{"sh", "-c", script, "sh"}, args...),
		slog.New(slog.NewTextHandler(log, nil)))
	h.timeout = 5 * time.Minute
	return h
}

// runBefore runs the hook before a call, and returns the arguments that the call gets.
func (h *hook) runBefore(ctx context.Context, arguments string) (after string, err error) {
	_, err = h.before(func(_ context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		after = string(i.Arguments)
		return nil, nil
	})(ctx, &dispatch.Invocation{Kind: "tool", Server: "files", Name: "read",
		Arguments: json.RawMessage(arguments)})
	return after, err
}

// runAfter runs the hook after a call with this result, and returns what becomes of it.
func (h *hook) runAfter(ctx context.Context, result string) (after string, err error) {
	made, err := h.after(func(context.Context, *dispatch.Invocation) (dispatch.Result, error) {
		return server.NewResult(json.RawMessage(result)), nil
	})(ctx, &dispatch.Invocation{Kind: "tool", Server: "files", Name: "read",
		Arguments: json.RawMessage(`{"a":1}`)})
	if err != nil {
		return "", err
	}
	return string(made.JSON()), nil
}

// A command has the variables of this program, but for credentials of registries and proxies.
func TestHooksInheritNoCredentials(t *testing.T) {
	t.Setenv("UV_PUBLISH_TOKEN", "s3cret")
	t.Setenv("https_proxy", "http://ada:s3cret@proxy.example")
	t.Setenv("POLICY", "strict")
	_, err := scriptHook(`printf '{"deny":"%s %s %s"}' "$POLICY" "$UV_PUBLISH_TOKEN" "$https_proxy"`,
		new(bytes.Buffer)).runBefore(t.Context(), `{}`)
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
		arguments, err := scriptHook(tt.script, &log).runBefore(t.Context(), `{"a": 1}`)
		if tt.arguments != "" {
			assert.NilError(t, err, tt.script)
			assert.Equal(t, arguments, tt.arguments, tt.script)
			continue
		}
		assert.Assert(t, err != nil, tt.script)
		assert.Assert(t, cmp.Contains(err.Error(), tt.err), tt.script)
		assert.Equal(t, log.Len() > 0, strings.Contains(err.Error(), "failed: "), tt.script)
	}
}

func TestHookAfter(t *testing.T) {
	var log bytes.Buffer
	seen := filepath.Join(t.TempDir(), "seen")
	h := scriptHook(`cat >"$1"; echo secret >&2; echo '{"result":{"x":1}}'`, &log, seen)
	result, err := h.runAfter(t.Context(), `{"content":[]}`)
	assert.NilError(t, err)
	assert.Equal(t, result, `{"x":1}`)
	text, err := os.ReadFile(seen)
	assert.NilError(t, err)
	assert.Equal(t, string(text),
		`{"phase":"after","server":"files","tool":"read","result":{"content":[]}}`+"\n")
	assert.Assert(t, cmp.Contains(log.String(), "stderr=secret"))
	_, err = scriptHook(`echo '{"arguments":{}}'`, &log).runAfter(t.Context(), `{}`)
	assert.ErrorContains(t, err, `and has "arguments"`)

	// more than a pipe takes, in both directions
	large := `{"x":"` + strings.Repeat("x", 16<<20) + `"}`
	result, err = scriptHook(`printf '{'; sed 's/.*"tool":"read",//'`, &log).runAfter(t.Context(),
		large)
	assert.NilError(t, err)
	assert.Equal(t, len(result), len(large))
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
		h := scriptHook(tt.script, &log, file)
		pid := 0 // 0: the script had too little time to write it
		for limit := time.Second; pid == 0; limit *= 4 {
			assert.Assert(t, limit < 2*time.Minute, "the script writes nothing")
			h.timeout = limit
			ctx, cancel := context.WithCancel(t.Context())
			if tt.cancel {
				h.timeout = time.Hour
				time.AfterFunc(limit, cancel)
			}
			_, err := h.runBefore(ctx, `{}`)
			cancel()
			if tt.cancel {
				assert.ErrorIs(t, err, context.Canceled)
			} else {
				assert.ErrorContains(t, err,
					fmt.Sprintf(`the hook "sh" failed: it did not answer within %v`, limit))
			}
			text, _ := os.ReadFile(file)
			_, _ = fmt.Sscan(string(text), &pid)
		}
		poll.WaitOn(t, func(poll.LogT) poll.Result {
			if syscall.Kill(pid, 0) == nil {
				return poll.Continue("process %d lives on", pid)
			}
			return poll.Success()
		}, poll.WithTimeout(time.Minute))
	}
}

func TestHookThatIsNotThere(t *testing.T) {
	var log bytes.Buffer
	h := newProcess([]string{"no-such-program-anywhere"},
		slog.New(slog.NewTextHandler(&log, nil)))
	_, err := h.runBefore(t.Context(), `{}`)
	assert.ErrorContains(t, err, `cannot start "no-such-program-anywhere"`)
}

// Each list runs in the order of its flags. Calls that are in flight, prompts and errors are left
// alone.
func TestOrderOfHooks(t *testing.T) {
	add := func(phase, name string) Program {
		return Program{words: []string{"sh", "-c",
			`sed 's/.*"` + phase + `":{"x":"\(.*\)"}}$/{"` + phase + `":{"x":"\1` + name + `"}}/'`}}
	}
	before := []Program{add("arguments", "a"), add("arguments", "b")}
	after := []Program{add("result", "c"), add("result", "d")}
	hooks := start(before, after, nil, slog.New(slog.DiscardHandler))
	defer hooks.Close()
	chain := dispatch.Chain(slices.Concat(hooks.Before, hooks.After))
	for _, tt := range []struct {
		i         dispatch.Invocation
		arguments string
		result    string
	}{
		{dispatch.Invocation{Kind: "tool"}, `{"x":"ab"}`, `{"x":"cd"}`},
		{dispatch.Invocation{Kind: "tool", InFlight: true}, `{"x":""}`, `{"x":"cd"}`},
		{dispatch.Invocation{Kind: "prompt"}, `{"x":""}`, `{"x":""}`},
		{dispatch.Invocation{Kind: "tool"}, `{"x":"ab"}`, ``},
	} {
		tt.i.Arguments = json.RawMessage(`{"x":""}`)
		result, err := tt.i.Run(t.Context(), chain,
			func(_ context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
				assert.Equal(t, string(i.Arguments), tt.arguments)
				if tt.result == "" {
					return nil, rpc.ErrShutdown
				}
				return server.NewResult([]byte(`{"x":""}`)), nil
			})
		if tt.result == "" {
			assert.ErrorIs(t, err, rpc.ErrShutdown)
			continue
		}
		assert.NilError(t, err)
		assert.Equal(t, string(result.JSON()), tt.result)
	}
}
