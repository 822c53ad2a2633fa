package main

import (
	"context"

	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
)

// A waitingList is the gateways that run, and what waits in each.
type waitingList struct {
	all  []*controlled
	what map[*controlled][]ops.Waiting
}

// gatewaysWaiting asks the gateways that run. There need not be any; one that does not answer is
// told.
func gatewaysWaiting(ctx context.Context, std *streams) *waitingList {
	l := &waitingList{what: make(map[*controlled][]ops.Waiting)}
	if len(sockets()) == 0 {
		return l
	}
	l.all, _ = running(ctx, std)
	for _, g := range l.all {
		if len(g.Waiting) == 0 {
			continue
		}
		var all ops.WaitingList
		if err := g.ask(ctx, "host.waiting", nil, &all); err != nil {
			std.err.printf("warning: %v", err)
			continue
		}
		l.what[g] = all.Waiting
	}
	return l
}

func (l *waitingList) hangUp() { hangUp(l.all) }

// named returns what waits under a name, "" for all, and can be agreed to: not what is of a
// project's file, which has to be trusted first, nor the order of the servers.
func (l *waitingList) named(name string) (found []trustable) {
	for _, g := range l.all {
		for _, w := range l.what[g] {
			if !w.Project && w.Kind != ops.WaitingOrder && (name == "" || w.Name == name) {
				found = append(found, trustable{waiting: &w, g: g})
			}
		}
	}
	return found
}

// release has gateways let in what was agreed to: that of a project, those that work in its
// directory.
func (l *waitingList) release(ctx context.Context, std *streams, dir string, one trustable) error {
	var what ops.Release
	switch {
	case one.server != nil:
		what = ops.Release{Kind: ops.WaitingServer, Name: one.server.ID, SHA256: one.server.TrustDigest()}
	case one.profile != nil:
		what = ops.Release{Kind: ops.WaitingProfile, Name: one.profile.Name, SHA256: one.profile.TrustDigest()}
	default:
		what = ops.Release{Kind: one.waiting.Kind, Name: one.waiting.Name, SHA256: one.waiting.SHA256}
	}
	for _, g := range l.all {
		if one.g != nil && g != one.g || one.g == nil && g.Dir != dir {
			continue
		}
		var left ops.WaitingList
		if err := g.ask(ctx, "host.release", what, &left); err != nil {
			return err
		}
		if g.waits(what.Kind, what.Name) {
			std.err.printf("%s has let %s in", g.name(), what.Name)
		}
	}
	return nil
}
