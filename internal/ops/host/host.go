// Package host has the operations with which a client looks after the servers behind it: what state they are in, and switching them off, on, and starting them anew.
package host

import (
	"context"
	"errors"
	"time"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/dispatch"
)

// Gate opens the operations that change something.
const Gate dispatch.Gate = "host"

// A Server names one.
type Server struct {
	Server string `json:"server" doc:"The server's id, as host.status has it."`
}

// A Status is what there is to know of one server.
type Status struct {
	Server   string `json:"server"`
	State    string `json:"state" doc:"stopped, starting, ready, waiting (for another start), failed or disabled."`
	Session  string `json:"session,omitempty" doc:"Whose process it is, of a server that is not shared."`
	Error    string `json:"error,omitempty" doc:"Why it failed last."`
	RetryIn  int    `json:"retry_in_seconds,omitempty" doc:"When it is started again."`
	Since    string `json:"since,omitempty" doc:"When it came into this state."`
	Uses     int    `json:"uses" doc:"What is under way."`
	Restarts int    `json:"restarts" doc:"How many times it was started again after it had failed."`
	Pid      int    `json:"pid,omitempty"`
}

// Statuses are those of all servers.
type Statuses struct {
	Servers []Status `json:"servers"`
}

// Register adds the operations to a catalog. Those that change something are there if it was made with [Gate].
func Register(c *dispatch.Catalog, m *host.Manager) error {
	var ops []*dispatch.Operation
	var failed []error
	add := func(op *dispatch.Operation, err error) { ops, failed = append(ops, op), append(failed, err) }
	add(dispatch.New(dispatch.Spec{Name: "host.status", Summary: "What state the servers behind this one are in.", Kind: dispatch.Read},
		func(context.Context, struct{}) (Statuses, error) { return statuses(m), nil }))
	for _, change := range []struct {
		name, summary string
		do            func(id string) error
	}{
		{"host.enable", "Have a server started again when it is wanted.", m.Enable},
		{"host.disable", "Stop a server, and withdraw what it offers, until host.enable.", m.Disable},
		{"host.restart", "Stop a server; it is started anew when it is wanted. Calls that are under way fail.", m.Restart},
	} {
		add(dispatch.New(dispatch.Spec{Name: change.name, Summary: change.summary, Kind: dispatch.Lifecycle, Gate: Gate, Errors: []dispatch.Code{dispatch.NotFound}},
			func(_ context.Context, in Server) (Statuses, error) {
				err := change.do(in.Server)
				if errors.Is(err, host.ErrUnknown) {
					return Statuses{}, dispatch.Errorf(dispatch.NotFound, "there is no server %.50q", in.Server)
				}
				return statuses(m), err
			}))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return c.Register(ops...)
}

func statuses(m *host.Manager) Statuses {
	all := Statuses{Servers: []Status{}}
	for _, s := range m.Status() {
		status := Status{Server: s.ID, Session: s.Session, State: string(s.State), Uses: s.Uses, Restarts: s.Restarts}
		if s.Err != nil {
			status.Error = s.Err.Error()
		}
		if !s.Since.IsZero() {
			status.Since = s.Since.UTC().Format(time.RFC3339)
		}
		if !s.Retry.IsZero() {
			status.RetryIn = int(time.Until(s.Retry).Round(time.Second).Seconds())
		}
		if s.Process != nil {
			status.Pid = s.Process.Pid
		}
		all.Servers = append(all.Servers, status)
	}
	return all
}
