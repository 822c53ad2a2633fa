package host

import (
	"context"
	"log/slog"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Withheld names a definition that is withheld because of its pin.
type Withheld struct {
	Server string   `json:"server"`
	Kind   mcp.Kind `json:"kind" doc:"As host.status reports it."`
	Name   string   `json:"name" doc:"As host.status reports it."`
}

// A Review is a definition beside its pin.
type Review struct {
	Pinned string `json:"pinned,omitempty" doc:"The accepted definition, as JSON; none if it is new."`
	Now    string `json:"now" doc:"The definition of the server, as JSON."`

	Identity string `json:"identity,omitempty" doc:"How the identity of the server has changed since it was pinned."`
	SHA256   string `json:"sha256" doc:"Of the pin, and of the whole identity as it was pinned and as it is."`
}

// An AcceptedPin is a definition to accept.
type AcceptedPin struct {
	Server string   `json:"server"`
	Kind   mcp.Kind `json:"kind"`
	Name   string   `json:"name"`
	Now    string   `json:"now" doc:"The definition that was reviewed: another one is not accepted."`

	SHA256 string `json:"sha256" doc:"That of host.review: with another pin or identity it is not accepted."`
}

// registerPins adds the operations for definitions that wait because of their pins.
func (o *Options) registerPins(r *registry) {
	spec := dispatch.Spec{Name: "host.review", Type: dispatch.Read,
		Summary: "Return a definition of a server as it is now, and as it is pinned.",
		Errors:  []dispatch.Code{dispatch.StateError}}
	add(r, spec, func(_ context.Context, in Withheld) (Review, error) {
		found, err := o.Review(in)
		return found, stateError(err)
	})
	spec.Name, spec.Type, spec.Gate = "host.accept", dispatch.Lifecycle, Gate
	spec.Summary = "Pin a definition of a server as it was reviewed, so that it is offered."
	add(r, spec, func(ctx context.Context, in AcceptedPin) (struct{}, error) {
		err := o.AcceptPin(in)
		if err == nil {
			o.logAction(ctx, "accepted", slog.String(string(in.Kind), in.Name),
				slog.String("of", in.Server))
		}
		return struct{}{}, stateError(err)
	})
}

func stateError(err error) error {
	if err == nil {
		return nil
	}
	return dispatch.Errorf(dispatch.StateError, "%w", err)
}
