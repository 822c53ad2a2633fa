package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/poll"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/lockedbuffer"
	"github.com/stdwire/stdwire/internal/quota"
)

// A running is a persistent hook of this test program.
type running struct {
	*hook
	process *persistent
	log     lockedbuffer.Buffer
	close   func() // ends the process; may be called again
}

func runPersistent(t testing.TB, change ...func(*hook, *persistent)) *running {
	t.Setenv(fixtureEnv, "persistent")
	self, err := os.Executable()
	assert.NilError(t, err)
	r := new(running)
	r.hook, r.process = newPersistent([]string{self}, slog.New(slog.NewTextHandler(&r.log, nil)))
	r.timeout = time.Minute
	r.process.pause = func(int) time.Duration { return 10 * time.Millisecond }
	for _, f := range change {
		f(r.hook, r.process)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.process.run(ctx)
	}()
	r.close = func() {
		cancel()
		<-done
	}
	t.Cleanup(r.close)
	return r
}

// of makes a call with the argument "do" for a principal, and returns the arguments that the hook
// has left.
func (r *running) of(ctx context.Context, principal, do, arg string) (after string, err error) {
	text, err := json.Marshal(map[string]string{"do": do, "arg": arg})
	if err != nil {
		return "", err
	}
	_, err = r.before(func(_ context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		after = string(i.Arguments)
		return nil, nil
	})(ctx, &dispatch.Invocation{Kind: "tool", Server: "files", Name: "read", Principal: principal,
		Arguments: text})
	return after, err
}

func (r *running) do(t testing.TB, do string) (after string, err error) {
	return r.of(t.Context(), "ada", do, "")
}

// passes checks that the hook answers.
func (r *running) passes(t testing.TB) {
	t.Helper()
	after, err := r.do(t, "pass")
	assert.NilError(t, err)
	assert.Equal(t, after, `{"arg":"","do":"pass"}`)
}

// One process answers all calls, and what it does decides what becomes of each.
func TestPersistent(t *testing.T) {
	r := runPersistent(t, func(h *hook, p *persistent) { p.maxAnswer = 1 << 20 })
	r.passes(t)
	after, err := r.do(t, "replace")
	assert.NilError(t, err)
	assert.Equal(t, after, `{"new":true}`)
	_, err = r.do(t, "deny")
	assert.Equal(t, err, error(denial("no")))
	_, err = r.do(t, "show")
	assert.Equal(t, err, error(denial(`{"id":ID,"phase":"before","server":"files","tool":"read",`+
		`"principal":"ada","arguments":{"arg":"","do":"show"}}`)))
	for answer, want := range map[string]string{
		`{"id":ID,"denied":"no"}`:                `and has "denied"`,
		`{"id":ID,"deny":1}`:                     "the deny of its answer is not a string",
		` {"arguments":1,"id":ID,"arguments":2}`: `and has "arguments"`,
		`{"id":ID,"result":{}}`:                  `and has "result"`,
	} {
		_, err = r.of(t.Context(), "ada", "raw", answer)
		assert.ErrorContains(t, err, want, answer)
	}
	assert.Assert(t, !strings.Contains(r.log.String(), "belongs to no call"), r.log.String())
	r.passes(t)
	assert.Equal(t, len(r.process.sent), 0)
}

// Lines that answer no call are logged once; other calls lose nothing.
func TestPersistentStrayLines(t *testing.T) {
	r := runPersistent(t, func(h *hook, p *persistent) { p.maxAnswer = 1 << 20 })
	for _, line := range []string{`no`, `[]`, `"x"`, `{"deny":"no"}`, `{"id":null}`,
		`{"id":"ID"}`, `{"id":ID,"id":ID}`, `{"id":1e999}`, `{"id":0}`, `{"id":-1}`,
		`{"id":99999999}`, `{"id":ID`, `{"id":ID}}`, "\xff", `{"id":ID} {"id":ID}`} {
		after, err := r.of(t.Context(), "ada", "raw", line+"\n\n"+`{"id":ID,"arguments":{"a":1}}`+
			"\n"+`{"id":ID,"deny":"twice"}`)
		assert.NilError(t, err, line)
		assert.Equal(t, after, `{"a":1}`, line)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() {
		_, err := r.of(ctx, "ada", "long", "")
		ended <- err
	}()
	r.passes(t)
	cancel()
	assert.ErrorIs(t, <-ended, context.Canceled)
	r.passes(t)
	assert.Equal(t, strings.Count(r.log.String(), "level="), 1, r.log.String())
	assert.Assert(t, cmp.Contains(r.log.String(), `error="it is not a JSON object"`))
}

// Answers come in any order, and each goes to its call.
func TestPersistentAnyOrder(t *testing.T) {
	r := runPersistent(t)
	const calls = 40
	var all sync.WaitGroup
	var got [calls]error
	for i := range calls {
		all.Go(func() { _, got[i] = r.of(t.Context(), fmt.Sprint("user ", i%5), "later", "") })
	}
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		r.process.mu.Lock()
		defer r.process.mu.Unlock()
		if len(r.process.sent) == calls {
			return poll.Success()
		}
		return poll.Continue("%d", len(r.process.sent))
	}, poll.WithTimeout(time.Minute))
	_, err := r.do(t, "now")
	assert.NilError(t, err)
	all.Wait()
	seen := map[string]bool{}
	for _, err := range got {
		seen[err.Error()] = true
	}
	assert.Equal(t, len(seen), calls)
	assert.Equal(t, r.log.String(), "")
}

// A process that ends is started again. The calls that it was asked about are refused with the
// reason, and others wait.
func TestPersistentRestarts(t *testing.T) {
	r := runPersistent(t, func(_ *hook, p *persistent) {
		p.pause = func(failures int) time.Duration {
			return map[int]time.Duration{1: 10 * time.Millisecond, 2: time.Hour}[failures]
		}
	})
	waiting := make(chan error)
	go func() {
		_, err := r.do(t, "silent")
		waiting <- err
	}()
	r.passes(t)
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		r.process.mu.Lock()
		defer r.process.mu.Unlock()
		if len(r.process.sent) == 1 {
			return poll.Success()
		}
		return poll.Continue("%d", len(r.process.sent))
	}, poll.WithTimeout(time.Minute))
	_, err := r.do(t, "exit")
	// the second reason is that of a machine on which the end of the process is seen late
	exited := regexp.MustCompile("it ended before it answered: (exited with status 3|it closed its)")
	assert.Assert(t, cmp.Regexp(exited, err.Error()))
	assert.Assert(t, cmp.Regexp(exited, (<-waiting).Error()))
	r.passes(t)
	_, err = r.do(t, "close")
	assert.ErrorContains(t, err, "failed: it ended before it answered: it closed its stdout")
	// A call that cannot wait for the next one is refused at once.
	_, err = r.do(t, "pass")
	assert.ErrorContains(t, err,
		"failed: it has ended (it closed its stdout) and starts again in 1h0m0s")
	poll.WaitOn(t, func(poll.LogT) poll.Result { // the log hears of it after the calls
		if strings.Count(r.log.String(), "it is started again") == 2 {
			return poll.Success()
		}
		return poll.Continue("%s", r.log.String())
	}, poll.WithTimeout(time.Minute))
}

// A process that has closed its stdin is replaced, and the call that it could not be sent waits for
// the next one.
func TestPersistentDeaf(t *testing.T) {
	r := runPersistent(t)
	_, err := r.do(t, "deaf")
	assert.NilError(t, err)
	r.passes(t)
	assert.Assert(t, cmp.Contains(r.log.String(), `error="it closed its stdin"`))
}

// A process that answers nothing any more is restarted. One that is slow with one call is not.
func TestPersistentSilent(t *testing.T) {
	r := runPersistent(t)
	r.passes(t)
	r.timeout = time.Second
	_, err := r.do(t, "silent")
	assert.ErrorContains(t, err, "failed: it did not answer within 1s")
	r.timeout = time.Minute
	r.passes(t)
	assert.Assert(t, cmp.Contains(r.log.String(), `error="it answered nothing in time"`))

	slow := &running{hook: new(*r.hook), process: r.process}
	slow.timeout = 5 * time.Second
	waiting := make(chan error)
	go func() {
		_, err := slow.do(t, "silent")
		waiting <- err
	}()
	for answered := false; !answered; {
		select {
		case err := <-waiting:
			assert.ErrorContains(t, err, "failed: it did not answer within 5s")
			answered = true
		default:
			r.passes(t)
		}
	}
	assert.Equal(t, strings.Count(r.log.String(), "it is started again"), 1, r.log.String())
}

// A program that cannot be started, or ends at once, refuses calls and is tried again.
func TestPersistentCannotRun(t *testing.T) {
	var log lockedbuffer.Buffer
	h, p := newPersistent([]string{"no-such-program-anywhere"},
		slog.New(slog.NewTextHandler(&log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.run(ctx)
	}()
	h.timeout = time.Millisecond
	r := &running{hook: h, process: p}
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if _, err := r.do(t, "pass"); strings.Contains(err.Error(),
			`it has ended (cannot start "no-such-program-anywhere"`) {
			return poll.Success()
		}
		return poll.Continue("%s", log.String())
	}, poll.WithTimeout(time.Minute))
	cancel()
	<-done
	_, err := r.do(t, "pass")
	assert.ErrorContains(t, err, "the gateway is ending")
}

// No caller may fill the queue. A message that can never fit is refused at once.
func TestPersistentBounds(t *testing.T) {
	r := runPersistent(t, func(h *hook, p *persistent) {
		h.running, p.bytes = quota.NewPool(4), quota.NewPool(4<<10)
	})
	_, err := r.of(t.Context(), "ada", "pass", strings.Repeat("x", 3<<10))
	assert.ErrorContains(t, err, "is over the share of one caller")
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { _, _ = r.of(ctx, "eve", "silent", "") })
	}
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if held := r.running.Held("eve"); held < 2 {
			return poll.Continue("%d", held)
		}
		return poll.Success()
	}, poll.WithTimeout(time.Minute))
	r.passes(t)
	cancel()
	all.Wait()
	assert.Equal(t, r.running.Held("eve")+r.process.bytes.Held("eve"), int64(0))
	r.passes(t)
}

// What a process writes to stderr is logged, up to a limit.
func TestPersistentStderr(t *testing.T) {
	r := runPersistent(t)
	_, err := r.do(t, "stderr")
	assert.NilError(t, err)
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if strings.Contains(r.log.String(), `stderr="complaint 19"`) {
			return poll.Success()
		}
		return poll.Continue("%s", r.log.String())
	}, poll.WithTimeout(time.Minute))
	r.close()
	assert.Assert(t, strings.Count(r.log.String(), "complaint") < 500)
}

// The end of the gateway ends a process that does not end with its stdin.
func TestPersistentEnds(t *testing.T) {
	t.Setenv("HOOK_STUBBORN", "1")
	r := runPersistent(t)
	waiting := make(chan error)
	go func() {
		_, err := r.do(t, "silent")
		waiting <- err
	}()
	r.passes(t)
	r.close()
	assert.ErrorContains(t, <-waiting, "the gateway is ending")
	_, err := r.do(t, "pass")
	assert.ErrorContains(t, err, "the gateway is ending")
}
