package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/dispatch"
)

// A fixture calls the operations on a manager of servers a and b, which cannot be started.
type fixture struct {
	t          *testing.T
	manager    *host.Manager
	dispatcher *dispatch.Dispatcher
}

func withFixture(t *testing.T, gates []dispatch.Gate, test func(f *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		m := host.NewManager(nil)
		defer m.Close()
		for _, id := range []string{"a", "b"} {
			assert.NilError(t,
				m.Add(host.Server{ID: id,
					Connect: func(context.Context, string, client.Options) (*client.Client, error) {
						log, err := m.Log(id)
						assert.NilError(t, err)
						_, _ = log.Write([]byte(id + " says Grüß\n"))
						return nil, errors.New("boom")
					}}))
		}
		o := ops.Options{
			Manager: m, Tools: func() map[string]int {
				return map[string]int{"a": 3}
			}, About: func() ops.About {
				return ops.About{Pid: 7, Files: []string{}, Profiles: []string{}}
			},
			Profile: func(name string) ([]string, error) {
				sets := map[string][]string{"both": {"a", "b", "c"}, "none": {"c"}}
				if sets[name] == nil {
					return nil, errors.New("there is no profile \"" + name + "\"")
				}
				return sets[name], nil
			},
		}
		c := dispatch.NewCatalog(gates...)
		assert.NilError(t, errors.Join(ops.Register(c, o), ops.RegisterLocal(c, o)))
		test(&fixture{t, m,
			dispatch.Options{Logger: slog.New(slog.DiscardHandler)}.New(c)})
	})
}

// call returns the data, or the code and message of the error.
func (f *fixture) call(operation, arguments string) string {
	answer := f.dispatcher.Dispatch(f.t.Context(),
		&dispatch.Call{Operation: operation, Arguments: json.RawMessage(arguments)})
	if answer.Err != nil {
		return string(answer.Err.Code) + ": " + answer.Err.Message
	}
	return string(answer.Data)
}

func TestChanges(t *testing.T) {
	withFixture(t, []dispatch.Gate{ops.Gate}, func(f *fixture) {
		for _, step := range []struct{ operation, arguments, want string }{
			{"host.status", `{}`,
				`{"servers":[{"server":"a","state":"stopped","uses":0,"restarts":0,"tools":3},{"server":"b","state":"stopped","uses":0,"restarts":0,"tools":0}]}`},
			{"host.disable", `{"server":"a"}`,
				`{"servers":[{"server":"a","state":"disabled","uses":0,"restarts":0,"tools":3},{"server":"b","state":"stopped","uses":0,"restarts":0,"tools":0}]}`},
			{"host.restart", `{"server":"a"}`,
				`state_error: the server "a" is disabled: enable it`},
			{"host.enable", `{"server":"a"}`, `{"servers":[{"server":"a","state":"stopped",`},
			{"host.disable", `{"profile":"both"}`,
				`{"servers":[{"server":"a","state":"disabled","uses":0,"restarts":0,"tools":3},{"server":"b","state":"disabled","uses":0,"restarts":0,"tools":0}],"missing":["c"]}`},
			{"host.enable", `{"profile":"none"}`,
				`not_found: no server of the profile "none" is here`},
			{"host.enable", `{"profile":"cad"}`, `not_found: there is no profile "cad"`},
			{"host.enable", `{"profile":"both","server":"a"}`,
				`invalid_input: invalid arguments: profile: `},
			{"host.enable", `{}`, `missing_param: `},
			{"host.enable", `{"server":"c"}`, `not_found: there is no server "c"`},
			{"host.restart", `{"server":"c"}`, `not_found: there is no server "c"`},
			{"host.logs", `{"server":"c"}`, `not_found: there is no server "c"`},
			{"host.enable", `{"profile":"both"}`, `{"servers":[{"server":"a","state":"stopped",`},
			{"host.about", `{}`, `{"pid":7,`},
		} {
			got := f.call(step.operation, step.arguments)
			assert.Assert(f.t, strings.HasPrefix(got, step.want), "%s %s: %s", step.operation,
				step.arguments, got)
		}
		f.call("host.restart", `{"server":"b"}`)
		synctest.Wait()
		var all ops.Statuses
		assert.NilError(f.t, json.Unmarshal([]byte(f.call("host.status", `{}`)), &all))
		b := all.Servers[1]
		assert.Equal(f.t, b.State, "waiting")
		assert.Equal(f.t, b.Error, "boom")
		assert.Equal(f.t, b.RetryIn, 1)
		assert.Equal(f.t, b.Since, time.Now().UTC().Format(time.RFC3339))

		time.Sleep(time.Minute)
		synctest.Wait()
		assert.NilError(f.t, json.Unmarshal([]byte(f.call("host.status", `{}`)), &all))
		b = all.Servers[1]
		assert.Equal(f.t, b.State, "failed")
		since, err := time.Parse(time.RFC3339, b.Since)
		assert.NilError(f.t, err)
		assert.Assert(f.t, b.RetryIn > 0 &&
			max(b.RetryIn-300+int(time.Since(since).Seconds()), -1) <= 1, "again in %d s",
			b.RetryIn)
	})
	withFixture(t, nil, func(f *fixture) {
		assert.Assert(f.t,
			cmp.Contains(f.call("host.disable", `{"server":"a"}`), "unknown_operation"))
		assert.Assert(f.t, cmp.Contains(f.call("host.status", `{}`), "stopped"))
	})
}

// The log says what was done with which server, and by whom.
func TestActionsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := host.NewManager(nil)
		defer m.Close()
		assert.NilError(t, m.Add(host.Server{ID: "a",
			Connect: func(context.Context, string, client.Options) (*client.Client, error) {
				return nil, errors.New("boom")
			}}))
		var logged bytes.Buffer
		drop := func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		}
		o := ops.Options{Manager: m, Logger: slog.New(slog.NewTextHandler(&logged,
			&slog.HandlerOptions{ReplaceAttr: drop}))}
		calls := func(o ops.Options, local bool, principal string) string {
			c := dispatch.NewCatalog(ops.Gate)
			assert.NilError(t, ops.Register(c, o))
			if local {
				assert.NilError(t, ops.RegisterLocal(c, o))
			}
			d := dispatch.Options{Logger: slog.New(slog.DiscardHandler)}.New(c)
			for _, call := range [][2]string{{"host.status", `{}`},
				{"host.restart", `{"server":"a"}`}, {"host.disable", `{"server":"a"}`},
				{"host.restart", `{"server":"a"}`}, {"host.disable", `{"server":"b"}`},
				{"host.enable", `{"server":"a"}`},
				{"host.release", `{"kind":"profile","name":"p"}`}} {
				d.Dispatch(t.Context(), &dispatch.Call{Operation: call[0], Principal: principal,
					Arguments: json.RawMessage(call[1])})
			}
			defer logged.Reset()
			return logged.String()
		}
		var want strings.Builder
		for _, done := range []string{"restarted", "disabled", "enabled"} {
			fmt.Fprintf(&want, "msg=\"gateway: server %s\" server=a by=client principal=ann\n",
				done)
		}
		assert.Equal(t, calls(o, false, "ann"), want.String())
		o.Release = func(context.Context, ops.Release) error { return nil }
		o.Waiting = func() []ops.PendingChange { return nil }
		assert.Equal(t, calls(o, true, ""),
			strings.ReplaceAll(want.String(), "client principal=ann", "operator")+
				"msg=\"gateway: profile released\" profile=p by=operator\n")
	})
}

// A caller that follows a log gets all output, in whole characters, and waits no longer than it
// asked for.
func TestLogs(t *testing.T) {
	withFixture(t, []dispatch.Gate{ops.Gate}, func(f *fixture) {
		logs := func(arguments string) (out ops.LogsOutput) {
			f.t.Helper()
			assert.NilError(f.t, json.Unmarshal([]byte(f.call("host.logs", arguments)), &out))
			return out
		}
		began := time.Now()
		assert.Equal(f.t, logs(`{"server":"a"}`), ops.LogsOutput{})
		assert.Equal(f.t, time.Since(began), time.Duration(0))
		assert.Equal(f.t, logs(`{"server":"a","wait_seconds":30}`), ops.LogsOutput{})
		assert.Equal(f.t, time.Since(began), 30*time.Second)

		time.AfterFunc(5*time.Second, func() { _ = f.manager.Restart("a") })
		got := logs(`{"server":"a","wait_seconds":30}`)
		assert.Equal(f.t, time.Since(began), 35*time.Second)
		text := got.Text
		for !strings.Contains(text, "boom") { // it may have come at once
			got = logs(fmt.Sprintf(`{"server":"a","after":%d,"wait_seconds":30}`, got.Next))
			assert.Assert(f.t, got.Text != "")
			text += got.Text
		}
		assert.Equal(f.t, text, "a says Grüß\n-- 2000-01-01T00:00:35Z boom\n")

		log, err := f.manager.Log("b")
		assert.NilError(f.t, err)
		_, _ = log.Write([]byte("gr\xc3"))
		got = logs(`{"server":"b"}`)
		assert.Equal(f.t, got, ops.LogsOutput{Text: "gr", Next: 2})
		assert.Equal(f.t, logs(`{"server":"b","after":2,"wait_seconds":1}`),
			ops.LogsOutput{Next: 2})
		_, _ = log.Write([]byte("\xbc\xff\xff\xff\xff"))
		assert.Equal(f.t, logs(`{"server":"b","after":2}`).Text, "ü\uFFFD")
	})
}

// A pending change takes effect by the operator's restart or release, not by operations of clients.
func TestRelease(t *testing.T) {
	withFixture(t, []dispatch.Gate{ops.Gate}, func(f *fixture) {
		for _, operation := range []string{"host.release", "host.waiting"} {
			assert.Assert(f.t,
				cmp.Contains(f.call(operation, `{"kind":"server","name":"a"}`),
					"unknown_operation"))
		}
		var released []ops.Release
		refusal := error(nil)
		o := ops.Options{
			Manager: f.manager, About: func() ops.About { return ops.About{} },
			Release: func(_ context.Context, what ops.Release) error {
				released = append(released, what)
				return refusal
			},
			Waiting: func() []ops.PendingChange {
				return []ops.PendingChange{{Subject: ops.PendingServer, Name: "a",
					Definition: "command x"}}
			},
		}
		c := dispatch.NewCatalog(ops.Gate)
		assert.NilError(f.t, errors.Join(ops.Register(c, o), ops.RegisterLocal(c, o)))
		local := &fixture{f.t, f.manager,
			dispatch.Options{Logger: slog.New(slog.DiscardHandler)}.New(c)}
		assert.Assert(f.t,
			cmp.Contains(local.call("host.waiting", `{}`), `"definition":"command x"`))
		assert.Assert(f.t,
			cmp.Contains(local.call("host.release", `{"kind":"profile","name":"p","sha256":"00"}`),
				`"waiting":[`))
		assert.Assert(f.t,
			cmp.Contains(local.call("host.release", `{"kind":"file","name":"p"}`), "invalid_input"))
		assert.Assert(f.t,
			cmp.Contains(local.call("host.restart", `{"server":"a"}`), `"servers":[`))
		assert.DeepEqual(f.t, released,
			[]ops.Release{{Subject: "profile", Name: "p", SHA256: "00"},
				{Subject: "server", Name: "a"}})
		refusal = dispatch.Errorf(dispatch.StateError, "it is not trusted")
		assert.Equal(f.t, local.call("host.restart", `{"server":"a"}`),
			"state_error: it is not trusted")
		assert.Equal(f.t, local.call("host.release", `{"kind":"server","name":"a"}`),
			"state_error: it is not trusted")
	})
}
