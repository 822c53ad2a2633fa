package host

import (
	"context"

	"github.com/stdwire/stdwire/dispatch"
)

// Kinds of what waits.
const (
	WaitingServer  = "server"
	WaitingProfile = "profile"
	WaitingOrder   = "order" // of the servers
)

// A Waiting is what the configuration files say of a server, a profile or the order since they have
// changed, and what is not in effect: it gives more than the operator has let in.
type Waiting struct {
	Kind    string `json:"kind" doc:"server, profile or order"`
	Name    string `json:"name,omitempty"`
	Why     string `json:"why" doc:"new, changed, environment or untrusted."`
	Source  string `json:"source" doc:"Where it is written."`
	Project bool   `json:"project,omitempty" doc:"It is of a project's file, and has to be trusted."`
	SHA256  string `json:"sha256,omitempty" doc:"Of all of it."`

	Definition string `json:"definition,omitempty" doc:"All of it, with what may be secret; host.waiting alone has it."`
}

// Everything is what waits.
type Everything struct {
	Waiting []Waiting `json:"waiting"`
}

// A Release names what is to wait no longer.
type Release struct {
	Kind   string `json:"kind" doc:"server or profile" enum:"server,profile"`
	Name   string `json:"name"`
	SHA256 string `json:"sha256,omitempty" doc:"What it has to be, so that nothing else is let in than what was shown."`
}

// registerWaiting adds the operations for what waits.
func (o *Options) registerWaiting(r *registry) {
	add(r, dispatch.Spec{Name: "host.waiting", Summary: "What the configuration files say that is not in effect yet.", Kind: dispatch.Read},
		func(context.Context, struct{}) (Everything, error) { return Everything{o.Waiting()}, nil })
	add(r, dispatch.Spec{Name: "host.release", Summary: "Let in what waits.", Kind: dispatch.Lifecycle, Errors: []dispatch.Code{dispatch.StateError}},
		func(ctx context.Context, in Release) (Everything, error) {
			err := o.Release(ctx, in)
			return Everything{o.Waiting()}, err
		})
}

// restart starts a server anew, and as its file has it by now if whoever asks may let that in.
func (o *Options) restart(ctx context.Context, id string) (Statuses, error) {
	if o.Release != nil {
		if err := o.Release(ctx, Release{Kind: WaitingServer, Name: id}); err != nil {
			return Statuses{}, err
		}
	}
	return o.change(Choice{Server: id}, o.Manager.Restart)
}
