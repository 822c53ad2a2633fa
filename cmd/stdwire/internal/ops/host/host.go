// Package host implements the operations that manage the servers behind a gateway: reporting their
// state, disabling, enabling and restarting them, reading their logs, and describing the gateway
// itself.
package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/dispatch"
)

// Gate permits the operations that change something.
const Gate dispatch.Gate = "host"

// Options configure the operations. Only Manager is required. The functions may be called
// concurrently.
type Options struct {
	Manager *host.Manager
	Tools   func() map[string]int // number of tools offered of each server; nil omits it

	// ToolBytes returns the size of the definitions of each server's tools; nil omits it.
	ToolBytes func() map[string]int

	// Unlisted returns the kinds of items of each server that are not known; nil omits it.
	Unlisted func() map[string][]string

	// Withheld returns what each server has that is not offered; nil omits it.
	Withheld func() map[string][]WithheldItem

	// Profile returns the servers of a profile; nil if there are no profiles.
	Profile func(name string) ([]string, error)

	About func() About // describes the gateway, for [RegisterLocal]
	Stop  func()       // ends the process soon, for [RegisterLocal]; nil omits host.stop

	// Messages returns the latest messages after a position, once there are some or ctx has ended,
	// for [RegisterLocal]; nil omits host.messages.
	Messages func(ctx context.Context, after int64) MessagesOutput

	// Release and Waiting are for the operator, and nil for clients. Release applies the pending
	// changes of a server or profile, if any; its error is one of package dispatch. It may block
	// while servers are replaced.
	Release func(context.Context, Release) error
	Waiting func() []PendingChange

	// Review and AcceptPin are for the operator, and nil without pins. Review returns a definition
	// as it is now and as it is pinned; AcceptPin pins it if it is still the one of Review.
	Review    func(Withheld) (Review, error)
	AcceptPin func(AcceptedPin) error

	// Switched is called after a server was disabled or enabled; nil calls nothing.
	Switched func(id string, disabled bool)
	// Revoke revokes the login of a user. It is for the operator, and nil if users cannot log in.
	// Its error is one of package dispatch.
	Revoke func(context.Context, LoginKey) (Revoked, error)

	Logger *slog.Logger // logs who has changed something; nil logs nothing
}

// switches returns a function that disables or enables a server.
func (o *Options) switches(disabled bool) func(id string) error {
	do := o.Manager.Enable
	if disabled {
		do = o.Manager.Disable
	}
	return func(id string) error {
		err := do(id)
		if err == nil && o.Switched != nil {
			o.Switched(id, disabled)
		}
		return err
	}
}

// A ServerOrProfile names a server, or the servers of a profile.
type ServerOrProfile struct {
	Server  string `json:"server,omitempty" doc:"The server's id, as host.status reports it."`
	Profile string `json:"profile,omitempty" doc:"The profile whose servers to use, instead of server."`
}

// A Server names a server.
type Server struct {
	Server string `json:"server" doc:"The server's id, as host.status reports it."`
}

// Register adds the operations for clients of the gateway to a catalog. Those that change something
// exist only if the catalog was made with [Gate].
func Register(c *dispatch.Catalog, o Options) error {
	var r registry
	add(&r, dispatch.Spec{Name: "host.status",
		Summary: "Report the state of the servers behind this gateway.", Type: dispatch.Read},
		func(context.Context, struct{}) (Statuses, error) { return o.statuses(), nil })
	spec := dispatch.Spec{Type: dispatch.Lifecycle, Gate: Gate,
		Errors: []dispatch.Code{dispatch.NotFound, dispatch.StateError}}
	spec.Name, spec.Summary = "host.enable",
		"Enable a server, or the servers of a profile, after host.disable."
	add(&r, spec, func(ctx context.Context, in ServerOrProfile) (Statuses,
		error) {
		return o.apply(ctx, in, "enabled", o.switches(false))
	})
	spec.Name, spec.Summary = "host.disable",
		"Stop a server, or the servers of a profile, and withdraw what they offer, until host.enable. Calls in progress fail."
	add(&r, spec, func(ctx context.Context, in ServerOrProfile) (Statuses,
		error) {
		return o.apply(ctx, in, "disabled", o.switches(true))
	})
	spec.Name, spec.Summary = "host.restart",
		"Stop a server and start it again. Calls in progress fail."
	add(&r, spec, func(ctx context.Context, in Server) (Statuses,
		error) {
		return o.restart(ctx, in.Server)
	})
	return r.register(c)
}

// RegisterLocal adds the operations for the user who runs the gateway, and not for clients: logs of
// servers and paths of files may be secret.
func RegisterLocal(c *dispatch.Catalog, o Options) error {
	var r registry
	add(&r, dispatch.Spec{Name: "host.about", Summary: "Describe this gateway.",
		Type: dispatch.Read},
		func(context.Context, struct{}) (About, error) { return o.About(), nil })
	add(&r, dispatch.Spec{Name: "host.logs",
		Summary: "Return what the processes of a server have written to stderr, and how they started and ended.",
		Type:    dispatch.Wait, Timeout: logsTimeout, Errors: []dispatch.Code{dispatch.NotFound}},
		o.logs)
	if o.Messages != nil {
		add(&r, dispatch.Spec{Name: "host.messages",
			Summary: "Return the latest messages between this gateway, its clients and its servers. They are kept from the first call on.",
			Type:    dispatch.Wait, Timeout: logsTimeout}, o.messages)
	}
	if o.Stop != nil {
		add(&r, dispatch.Spec{Name: "host.stop", Summary: "Stop the servers and end this process.",
			Type: dispatch.Lifecycle, Gate: Gate}, o.stop)
	}
	if o.Release != nil {
		o.registerWaiting(&r)
	}
	if o.Review != nil {
		o.registerPins(&r)
	}
	if o.Revoke != nil {
		o.registerLogins(&r)
	}
	return r.register(c)
}

func (o *Options) stop(context.Context, struct{}) (struct{}, error) {
	o.Stop()
	return struct{}{}, nil
}

// A registry collects operations and their errors.
type registry struct {
	ops  []*dispatch.Operation
	errs []error
}

func add[In, Out any](r *registry, spec dispatch.Spec, fn func(context.Context, In) (Out, error)) {
	op, err := dispatch.NewOperation(spec, fn)
	r.ops, r.errs = append(r.ops, op), append(r.errs, err)
}

func (r *registry) register(c *dispatch.Catalog) error {
	if err := errors.Join(r.errs...); err != nil {
		return err
	}
	return c.Register(r.ops...)
}

// logAction logs that the caller has done something with a server or profile.
func (o *Options) logAction(ctx context.Context, done string, with slog.Attr,
	more ...slog.Attr) {
	if o.Logger == nil {
		return
	}
	by := "client"
	if o.Release != nil {
		by = "operator"
	}
	attrs := append([]slog.Attr{with}, append(more, slog.String("by", by))...)
	if principal := dispatch.PrincipalFrom(ctx); principal != "" {
		attrs = append(attrs, slog.String("principal", principal))
	}
	o.Logger.LogAttrs(ctx, slog.LevelInfo, "gateway: "+with.Key+" "+done, attrs...)
}

// apply calls do for the servers that in names, concurrently, logs what was done, and returns the
// new state.
func (o *Options) apply(ctx context.Context, in ServerOrProfile, done string,
	do func(id string) error) (Statuses, error) {
	ids, err := o.serverIDs(in)
	if err != nil {
		return Statuses{}, err
	}
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			if errs[i] = do(id); errs[i] == nil {
				o.logAction(ctx, done, slog.String("server", id))
			}
		})
	}
	wg.Wait()
	var missing []string
	for i, err := range errs {
		switch {
		case errors.Is(err, host.ErrUnknown) && in.Profile != "":
			missing = append(missing, ids[i])
		case errors.Is(err, host.ErrUnknown):
			return Statuses{}, unknownServer(in.Server)
		case errors.Is(err, host.ErrDisabled):
			return Statuses{},
				dispatch.Errorf(dispatch.StateError, "the server %q is disabled: enable it", ids[i])
		case err != nil:
			return Statuses{}, err
		}
	}
	if len(missing) > 0 && len(missing) == len(ids) {
		return Statuses{},
			dispatch.Errorf(dispatch.NotFound, "no server of the profile %.50q is here",
				in.Profile)
	}
	all := o.statuses()
	all.Missing = missing
	return all, nil
}

// serverIDs returns the ids of the servers that in names.
func (o *Options) serverIDs(in ServerOrProfile) ([]string, error) {
	switch {
	case in.Server != "" && in.Profile != "":
		return nil, dispatch.InvalidArgument("/profile",
			"give a server or a profile, not both")
	case in.Server != "":
		return []string{in.Server}, nil
	case in.Profile == "":
		return nil, dispatch.MissingArgument("server", "give a server or a profile")
	case o.Profile == nil:
		return nil, dispatch.Errorf(dispatch.NotFound, "there are no profiles")
	}
	ids, err := o.Profile(in.Profile)
	if err != nil {
		return nil, dispatch.Errorf(dispatch.NotFound, "%w", err)
	}
	return ids, nil
}

func unknownServer(id string) error {
	return dispatch.Errorf(dispatch.NotFound, "there is no server %.50q", id)
}
