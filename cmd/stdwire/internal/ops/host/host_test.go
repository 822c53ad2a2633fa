package host_test

import (
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

// A desk calls the operations on a manager of servers a and b, which cannot be started.
type desk struct {
	t *testing.T
	m *host.Manager
	d *dispatch.Dispatcher
}

func atDesk(t *testing.T, gates []dispatch.Gate, test func(d *desk)) {
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
		test(&desk{t, m,
			dispatch.NewDispatcher(c, dispatch.Options{Logger: slog.New(slog.DiscardHandler)})})
	})
}

// call returns the data, or the code and message of the error.
func (d *desk) call(operation, arguments string) string {
	answer := d.d.Dispatch(d.t.Context(),
		&dispatch.Call{Operation: operation, Arguments: json.RawMessage(arguments)})
	if answer.Err != nil {
		return string(answer.Err.Code) + ": " + answer.Err.Message
	}
	return string(answer.Data)
}

func TestChanges(t *testing.T) {
	atDesk(t, []dispatch.Gate{ops.Gate}, func(d *desk) {
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
			got := d.call(step.operation, step.arguments)
			assert.Assert(d.t, strings.HasPrefix(got, step.want), "%s %s: %s", step.operation,
				step.arguments, got)
		}
		d.call("host.restart", `{"server":"b"}`)
		synctest.Wait()
		var all ops.Statuses
		assert.NilError(d.t, json.Unmarshal([]byte(d.call("host.status", `{}`)), &all))
		b := all.Servers[1]
		assert.Equal(d.t, b.State, "waiting")
		assert.Equal(d.t, b.Error, "boom")
		assert.Equal(d.t, b.RetryIn, 1)
		assert.Equal(d.t, b.Since, time.Now().UTC().Format(time.RFC3339))

		time.Sleep(time.Minute)
		synctest.Wait()
		assert.NilError(d.t, json.Unmarshal([]byte(d.call("host.status", `{}`)), &all))
		b = all.Servers[1]
		assert.Equal(d.t, b.State, "failed")
		since, err := time.Parse(time.RFC3339, b.Since)
		assert.NilError(d.t, err)
		assert.Assert(d.t, b.RetryIn > 0 &&
			max(b.RetryIn-300+int(time.Since(since).Seconds()), -1) <= 1, "again in %d s",
			b.RetryIn)
	})
	atDesk(t, nil, func(d *desk) {
		assert.Assert(d.t,
			cmp.Contains(d.call("host.disable", `{"server":"a"}`), "unknown_operation"))
		assert.Assert(d.t, cmp.Contains(d.call("host.status", `{}`), "stopped"))
	})
}

// A caller that follows a log gets all output, in whole characters, and waits no longer than it
// asked for.
func TestLogs(t *testing.T) {
	atDesk(t, []dispatch.Gate{ops.Gate}, func(d *desk) {
		logs := func(arguments string) (out ops.LogsOutput) {
			d.t.Helper()
			assert.NilError(d.t, json.Unmarshal([]byte(d.call("host.logs", arguments)), &out))
			return out
		}
		began := time.Now()
		assert.Equal(d.t, logs(`{"server":"a"}`), ops.LogsOutput{})
		assert.Equal(d.t, time.Since(began), time.Duration(0))
		assert.Equal(d.t, logs(`{"server":"a","wait_seconds":30}`), ops.LogsOutput{})
		assert.Equal(d.t, time.Since(began), 30*time.Second)

		time.AfterFunc(5*time.Second, func() { _ = d.m.Restart("a") })
		got := logs(`{"server":"a","wait_seconds":30}`)
		assert.Equal(d.t, time.Since(began), 35*time.Second)
		text := got.Text
		for !strings.Contains(text, "boom") { // it may have come at once
			got = logs(fmt.Sprintf(`{"server":"a","after":%d,"wait_seconds":30}`, got.Next))
			assert.Assert(d.t, got.Text != "")
			text += got.Text
		}
		assert.Equal(d.t, text, "a says Grüß\n-- 2000-01-01T00:00:35Z boom\n")

		log, err := d.m.Log("b")
		assert.NilError(d.t, err)
		_, _ = log.Write([]byte("gr\xc3"))
		got = logs(`{"server":"b"}`)
		assert.Equal(d.t, got, ops.LogsOutput{Text: "gr", Next: 2})
		assert.Equal(d.t, logs(`{"server":"b","after":2,"wait_seconds":1}`),
			ops.LogsOutput{Next: 2})
		_, _ = log.Write([]byte("\xbc\xff\xff\xff\xff"))
		assert.Equal(d.t, logs(`{"server":"b","after":2}`).Text, "ü\uFFFD")
	})
}

// A pending change takes effect by the operator's restart or release, not by operations of clients.
func TestRelease(t *testing.T) {
	atDesk(t, []dispatch.Gate{ops.Gate}, func(d *desk) {
		for _, operation := range []string{"host.release", "host.waiting"} {
			assert.Assert(d.t,
				cmp.Contains(d.call(operation, `{"kind":"server","name":"a"}`),
					"unknown_operation"))
		}
		var released []ops.Release
		refusal := error(nil)
		o := ops.Options{
			Manager: d.m, About: func() ops.About { return ops.About{} },
			Release: func(_ context.Context, what ops.Release) error {
				released = append(released, what)
				return refusal
			},
			Waiting: func() []ops.Waiting {
				return []ops.Waiting{{Kind: ops.WaitingServer, Name: "a", Definition: "command x"}}
			},
		}
		c := dispatch.NewCatalog(ops.Gate)
		assert.NilError(d.t, errors.Join(ops.Register(c, o), ops.RegisterLocal(c, o)))
		local := &desk{d.t, d.m,
			dispatch.NewDispatcher(c, dispatch.Options{Logger: slog.New(slog.DiscardHandler)})}
		assert.Assert(d.t,
			cmp.Contains(local.call("host.waiting", `{}`), `"definition":"command x"`))
		assert.Assert(d.t,
			cmp.Contains(local.call("host.release", `{"kind":"profile","name":"p","sha256":"00"}`),
				`"waiting":[`))
		assert.Assert(d.t,
			cmp.Contains(local.call("host.release", `{"kind":"file","name":"p"}`), "invalid_input"))
		assert.Assert(d.t,
			cmp.Contains(local.call("host.restart", `{"server":"a"}`), `"servers":[`))
		assert.DeepEqual(d.t, released,
			[]ops.Release{{Kind: "profile", Name: "p", SHA256: "00"}, {Kind: "server", Name: "a"}})
		refusal = dispatch.Errorf(dispatch.StateError, "it is not trusted")
		assert.Equal(d.t, local.call("host.restart", `{"server":"a"}`),
			"state_error: it is not trusted")
		assert.Equal(d.t, local.call("host.release", `{"kind":"server","name":"a"}`),
			"state_error: it is not trusted")
	})
}
