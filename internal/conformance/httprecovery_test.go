//go:build linux

package conformance_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/streamable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// notices lets another client change the watched resource, and waits for the notification of the
// server: a report that it may have changed is not enough.
func (o *own) notices(s *site) {
	o.t.Helper()
	told := func() int { return s.passed("record", '<', mcp.NotificationResourceUpdated) }
	before := told()
	newOwn(o.t, s.direct, mcp.Latest).says("Changed", "test_trigger_resource_update", `{}`)
	for heard := false; !heard; heard = told() > before {
		assert.Equal(o.t, next(o.t, o.updated), watched)
	}
}

// A server forgets a session while its client is connected. The client detects this by a call, by
// many concurrent calls, or by its GET stream. It opens another session, each call gets its
// response, and the subscriptions are renewed.
func TestExpiredSession(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string]int{"idle": 0, "calling": 1, "busy": 16} {
		for _, revision := range mcp.Supported(mcp.Legacy) {
			t.Run(name+" "+string(revision), func(t *testing.T) {
				t.Parallel()
				s := newBench(t).serve()
				o := newOwn(t, s.tapped, revision)
				assert.NilError(t, o.Subscribe(t.Context(), watched))
				o.notices(s)
				session := o.lastSession()
				w := &wire{url: s.direct, revision: revision, session: session,
					http: http.DefaultClient}
				r, err := w.send(t.Context(), "DELETE", "")
				assert.NilError(t, err)
				assert.NilError(t, r.Body.Close())
				assert.Equal(t, r.StatusCode, http.StatusNoContent)
				var group sync.WaitGroup
				for range calls {
					group.Go(func() {
						// the server must reach the client for this
						got, err := o.text("test_input_required_result_list_roots", `{}`)
						assert.Check(t, err)
						assert.Check(t, got == "2 roots", got)
					})
				}
				group.Wait()
				// the client reports a possible change
				assert.Equal(t, next(t, o.updated), watched)
				o.notices(s)
				assert.Assert(t, o.lastSession() != session)
				assert.Equal(t, s.passed("record", '>', mcp.MethodInitialize), 2)
				s.wellSaid("record")
			})
		}
	}
}

// A server exits or is killed, and restarts at the same address. Calls fail meanwhile, with the
// reason. Then everything continues automatically.
func TestRestartedServer(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]syscall.Signal{"ended": syscall.SIGTERM,
		"killed": syscall.SIGKILL} {
		for _, revision := range []mcp.Revision{mcp.Rev20251125, mcp.Rev20260728} {
			t.Run(name+" "+string(revision), func(t *testing.T) {
				t.Parallel()
				path, err := everything()
				assert.NilError(t, err)
				// an address that nobody else gets while the server is not there
				s := newBench(t).servingAt(freeAddress(t), path, "-http")
				near, far := newOwn(t, s.direct, revision), newOwn(t, s.tapped, revision)
				for _, o := range []*own{near, far} {
					assert.NilError(t, o.Subscribe(t.Context(), watched))
					o.says("Hello, Ada!", "greet", `{"name":"Ada"}`)
				}
				s.stop(how)
				_, err = near.text("greet", `{"name":"Ada"}`)
				_, refused := errors.AsType[*net.OpError](err)
				assert.Assert(t, refused || errors.Is(err, streamable.ErrDisconnected), "%v", err)
				_, err = far.text("greet", `{"name":"Ada"}`)
				gateway, _ := errors.AsType[*streamable.StatusError](err)
				assert.Assert(t, gateway != nil && gateway.Status == http.StatusBadGateway ||
					errors.Is(err, streamable.ErrDisconnected), "%v", err)
				s.start(s.address())
				for _, o := range []*own{near, far} {
					o.says("Hello, Ada!", "greet", `{"name":"Ada"}`)
					assert.Equal(t, next(t, o.updated), watched)
				}
				far.notices(s)
				assert.Equal(t, next(t, near.updated), watched)
				near.says("Changed", "test_trigger_tool_change", `{}`)
				for _, o := range []*own{near, far} {
					for len(next(t, o.tools)) != len(ownCalls)+1 {
						// the list was also fetched after a possible change
					}
				}
				s.wellSaid("record")
				s.checkClient("record")
			})
		}
	}
}

// Connections break while a legacy server responds: its client resumes the response, and repeats no
// call.
func TestResumedAnswers(t *testing.T) {
	t.Parallel()
	s := newBench(t).serve()
	o := newOwn(t, s.tapped, mcp.Rev20251125)
	assert.NilError(t, o.Subscribe(t.Context(), watched))
	once := false
	o.asked = func(context.Context) error {
		if !once {
			once = true
			s.cut()
		}
		return nil
	}
	o.says(ownCalls["test_elicitation"].want, "test_elicitation",
		ownCalls["test_elicitation"].arguments)
	for _, after := range []float64{0, 50, 100} {
		var done []float64
		o.says("Done", "test_tool_with_progress", `{}`,
			client.OnProgress(func(p mcp.ProgressParams) {
				if done = append(done, p.Progress); p.Progress == after {
					s.cut()
				}
			}))
		assert.Equal(t, done[len(done)-1], 100.0)
	}
	assert.Equal(t, s.passed("record", '>', mcp.MethodCallTool), 4)
	o.notices(s) // the GET stream was closed too
	assert.Equal(t, s.passed("record", '>', mcp.MethodInitialize), 1)
	s.wellSaid("record")
}

// The responses of a modern server cannot be resumed. An interrupted call fails, and is not
// repeated automatically; subscriptions are renewed.
func TestDisconnectDuringAResponse(t *testing.T) {
	t.Parallel()
	s := newBench(t).serve()
	o := newOwn(t, s.tapped, mcp.Rev20260728)
	assert.NilError(t, o.Subscribe(t.Context(), watched))
	_, err := o.text("test_tool_with_progress", `{}`,
		client.OnProgress(func(mcp.ProgressParams) { s.cut() }))
	assert.ErrorIs(t, err, streamable.ErrDisconnected)
	assert.Equal(t, s.passed("record", '>', mcp.MethodCallTool), 1)
	assert.Equal(t, next(t, o.updated), watched)
	o.notices(s)
	o.says("Hello, Ada!", "greet", `{"name":"Ada"}`)
	s.wellSaid("record")
}
