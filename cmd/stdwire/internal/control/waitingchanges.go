package control

import (
	"context"

	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/socket"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// waitingChanges are the changes that wait in each running gateway.
type waitingChanges struct {
	gateways []*gatewayClient
	changes  map[*gatewayClient][]ops.PendingChange
}

// findWaiting asks the running gateways, if any, for their waiting changes. It prints a warning for
// each gateway that does not answer.
func findWaiting(ctx context.Context, std *term.Streams) *waitingChanges {
	l := &waitingChanges{changes: make(map[*gatewayClient][]ops.PendingChange)}
	if len(socket.Sockets()) == 0 {
		return l
	}
	l.gateways, _ = runningGateways(ctx, std)
	for _, g := range l.gateways {
		if len(g.Waiting) == 0 {
			continue
		}
		var all ops.PendingChanges
		if err := g.call(ctx, "host.waiting", nil, &all); err != nil {
			std.Err.Printf("warning: %v", err)
			continue
		}
		l.changes[g] = all.Waiting
	}
	return l
}

func (l *waitingChanges) close() { closeAll(l.gateways) }

// matching returns the changes with that name, or all if name is "", that stdwire trust can accept.
// It excludes changes of a project, which must be trusted first, of the order of the servers, of
// the rates and of the policy.
func (l *waitingChanges) matching(name string) (found []trustItem) {
	for _, g := range l.gateways {
		for _, w := range l.changes[g] {
			named := w.Subject == ops.PendingServer || w.Subject == ops.PendingProfile
			if !w.Project && named && (name == "" || w.Name == name) {
				found = append(found, trustItem{waiting: &w, g: g})
			}
		}
	}
	return found
}

// accept makes the gateways accept a change. Only gateways that run in dir accept a change of a
// project.
func (l *waitingChanges) accept(ctx context.Context, std *term.Streams, dir string,
	item trustItem) error {
	var what ops.Release
	switch {
	case item.server != nil:
		what = ops.Release{Subject: ops.PendingServer, Name: item.server.ID,
			SHA256: item.server.TrustDigest()}
	case item.profile != nil:
		what = ops.Release{Subject: ops.PendingProfile, Name: item.profile.Name,
			SHA256: item.profile.TrustDigest()}
	default:
		what = ops.Release{Subject: item.waiting.Subject, Name: item.waiting.Name,
			SHA256: item.waiting.SHA256}
	}
	for _, g := range l.gateways {
		if item.g != nil && g != item.g || item.g == nil && g.Dir != dir {
			continue
		}
		var left ops.PendingChanges
		if err := g.call(ctx, "host.release", what, &left); err != nil {
			return err
		}
		if g.isWaiting(what.Subject, what.Name) {
			std.Err.Printf("%s has accepted %s", g.name(), what.Name)
		}
	}
	return nil
}
