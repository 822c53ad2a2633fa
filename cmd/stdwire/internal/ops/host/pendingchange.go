package host

import (
	"context"
	"log/slog"

	"github.com/stdwire/stdwire/dispatch"
)

// The subjects of pending changes.
const (
	PendingServer  = "server"
	PendingProfile = "profile"
	PendingOrder   = "order" // of the servers
	PendingRates   = "rates" // that limit calls
	PendingPolicy  = "policy"
)

// A PendingChange is a change of a server, a profile, the order of servers, the rates or the policy
// in the configuration files that is not in effect, because it grants more than the operator has
// approved.
type PendingChange struct {
	Subject string `json:"kind" doc:"server, profile, order, rates or policy"`
	Name    string `json:"name,omitempty"`
	Why     string `json:"why" doc:"new, changed, environment, more servers or untrusted."`
	Source  string `json:"source" doc:"The file it is in."`
	Project bool   `json:"project,omitempty" doc:"It is from a project's file, which must be trusted."`
	SHA256  string `json:"sha256,omitempty" doc:"Of the whole definition."`

	Definition string `json:"definition,omitempty" doc:"The whole definition, secrets included; only in host.waiting."`
}

// PendingChanges lists the pending changes.
type PendingChanges struct {
	Waiting []PendingChange `json:"waiting"`
}

// A Release names the pending change of a server or profile, to apply it. Those of other subjects
// take effect only when the operator accepts all changes.
type Release struct {
	Subject string `json:"kind" doc:"server or profile" enum:"server,profile"`
	Name    string `json:"name"`
	SHA256  string `json:"sha256,omitempty" doc:"The expected hash, so that only the change that was shown takes effect."`
}

// registerWaiting adds the operations for pending changes.
func (o *Options) registerWaiting(r *registry) {
	add(r, dispatch.Spec{Name: "host.waiting",
		Summary: "List changes of the configuration files that are not in effect yet.",
		Type:    dispatch.Read},
		func(context.Context, struct{}) (PendingChanges, error) {
			return PendingChanges{o.Waiting()}, nil
		})
	add(r, dispatch.Spec{Name: "host.release", Summary: "Put a pending change into effect.",
		Type: dispatch.Lifecycle, Errors: []dispatch.Code{dispatch.StateError}},
		func(ctx context.Context, in Release) (PendingChanges, error) {
			err := o.Release(ctx, in)
			if err == nil {
				o.logAction(ctx, "released", slog.String(in.Subject, in.Name))
			}
			return PendingChanges{o.Waiting()}, err
		})
}

// restart restarts a server, and first applies its pending change if the caller is the operator.
func (o *Options) restart(ctx context.Context, id string) (Statuses, error) {
	if o.Release != nil {
		if err := o.Release(ctx, Release{Subject: PendingServer, Name: id}); err != nil {
			return Statuses{}, err
		}
	}
	return o.apply(ctx, ServerOrProfile{Server: id}, "restarted", o.Manager.Restart)
}
