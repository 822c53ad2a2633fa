// Package host has the operations with which one looks after the servers behind a gateway: what state they are in, switching them off, on, and starting them anew, what they write, and what the
// gateway itself is.
package host

import (
	"context"
	"errors"
	"sync"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/dispatch"
)

// Gate opens the operations that change something.
const Gate dispatch.Gate = "host"

// Options are what the operations are about. Only Manager is required. The functions may be called by any number of goroutines at a time.
type Options struct {
	Manager *host.Manager
	Tools   func() map[string]int // how many tools of each server are offered; nil: that is not told
	// Withheld says what each server has that is not offered; nil: that is not told.
	Withheld func() map[string][]Withheld
	Profile  func(name string) ([]string, error) // the servers of a set that has a name; nil: there are no sets
	About    func() About                        // what the gateway is, for [RegisterLocal]

	// For the operator, and nil for clients. Release lets in what waits of a server or profile, if
	// anything does; its error is one of dispatch. It may block while servers are replaced.
	Release func(context.Context, Release) error
	Waiting func() []Waiting
}

// A Choice names a server or several.
type Choice struct {
	Server  string `json:"server,omitempty" doc:"The server's id, as host.status has it."`
	Profile string `json:"profile,omitempty" doc:"Instead: the profile whose servers are meant."`
}

// A Server names one.
type Server struct {
	Server string `json:"server" doc:"The server's id, as host.status has it."`
}

// Register adds the operations for clients of the gateway to a catalog. Those that change something are there if it was made with [Gate].
func Register(c *dispatch.Catalog, o Options) error {
	var r registry
	add(&r, dispatch.Spec{Name: "host.status", Summary: "What state the servers behind this one are in.", Kind: dispatch.Read},
		func(context.Context, struct{}) (Statuses, error) { return o.statuses(), nil })
	changes := dispatch.Spec{Kind: dispatch.Lifecycle, Gate: Gate, Errors: []dispatch.Code{dispatch.NotFound, dispatch.StateError}}
	changes.Name, changes.Summary = "host.enable", "Have a server, or those of a profile, offered and started again."
	add(&r, changes, func(_ context.Context, in Choice) (Statuses, error) { return o.change(in, o.Manager.Enable) })
	changes.Name, changes.Summary = "host.disable", "Stop a server, or those of a profile, and withdraw what they offer, until host.enable. Calls that are under way fail."
	add(&r, changes, func(_ context.Context, in Choice) (Statuses, error) { return o.change(in, o.Manager.Disable) })
	changes.Name, changes.Summary = "host.restart", "Stop a server and start it anew. Calls that are under way fail."
	add(&r, changes, func(ctx context.Context, in Server) (Statuses, error) { return o.restart(ctx, in.Server) })
	return r.register(c)
}

// RegisterLocal adds the operations that are not for clients, but for the user whose gateway it is: what servers write may be secret, and so may be where files are.
func RegisterLocal(c *dispatch.Catalog, o Options) error {
	var r registry
	add(&r, dispatch.Spec{Name: "host.about", Summary: "What this gateway is.", Kind: dispatch.Read},
		func(context.Context, struct{}) (About, error) { return o.About(), nil })
	add(&r, dispatch.Spec{Name: "host.logs", Summary: "What the processes of a server have written to stderr, and what has become of them.", Kind: dispatch.Wait, Timeout: beyond, Errors: []dispatch.Code{dispatch.NotFound}}, o.logs)
	if o.Release != nil {
		o.registerWaiting(&r)
	}
	return r.register(c)
}

// A registry collects operations, and what is wrong with them.
type registry struct {
	ops    []*dispatch.Operation
	failed []error
}

func add[In, Out any](r *registry, spec dispatch.Spec, fn func(context.Context, In) (Out, error)) {
	op, err := dispatch.New(spec, fn)
	r.ops, r.failed = append(r.ops, op), append(r.failed, err)
}

func (r *registry) register(c *dispatch.Catalog) error {
	if err := errors.Join(r.failed...); err != nil {
		return err
	}
	return c.Register(r.ops...)
}

// change does something to those servers that are chosen, to all of them at once.
func (o *Options) change(in Choice, do func(id string) error) (Statuses, error) {
	ids, err := o.choose(in)
	if err != nil {
		return Statuses{}, err
	}
	failed := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() { failed[i] = do(id) })
	}
	wg.Wait()
	var missing []string
	for i, err := range failed {
		switch {
		case errors.Is(err, host.ErrUnknown) && in.Profile != "":
			missing = append(missing, ids[i])
		case errors.Is(err, host.ErrUnknown):
			return Statuses{}, unknown(in.Server)
		case errors.Is(err, host.ErrDisabled):
			return Statuses{}, dispatch.Errorf(dispatch.StateError, "the server %q is disabled: enable it", ids[i])
		case err != nil:
			return Statuses{}, err
		}
	}
	if len(missing) > 0 && len(missing) == len(ids) {
		return Statuses{}, dispatch.Errorf(dispatch.NotFound, "none of the servers of the profile %.50q is here", in.Profile)
	}
	all := o.statuses()
	all.Missing = missing
	return all, nil
}

func (o *Options) choose(in Choice) ([]string, error) {
	switch {
	case in.Server != "" && in.Profile != "":
		return nil, dispatch.InvalidArgument("/profile", "there is a server as well: which of them is it?")
	case in.Server != "":
		return []string{in.Server}, nil
	case in.Profile == "":
		return nil, dispatch.MissingArgument("server", "which server, or which profile?")
	case o.Profile == nil:
		return nil, dispatch.Errorf(dispatch.NotFound, "there are no profiles")
	}
	ids, err := o.Profile(in.Profile)
	if err != nil {
		return nil, dispatch.Errorf(dispatch.NotFound, "%w", err)
	}
	return ids, nil
}

func unknown(id string) error {
	return dispatch.Errorf(dispatch.NotFound, "there is no server %.50q", id)
}
