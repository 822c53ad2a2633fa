package gateway

import (
	"context"
	"errors"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway/internal/nametable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// putSkill offers a skill. Its definition, including the digests, stays as the server wrote it.
func (u *upstreamServer) putSkill(s *server.Server, _ string, d definition[mcp.Skill]) error {
	return s.AddSkill(server.Skill{Skill: *d.item, NeedsSession: u.perSession, Definition: d.passed,
		Read: u.read, ReadDirectory: u.readDirectory})
}

// readDirectory reads a directory of a dynamic skill from the server.
func (u *upstreamServer) readDirectory(ctx context.Context, uri string) ([]mcp.Resource, error) {
	c := &call{kind: mcp.KindResource, target: u.target(ctx, uri, true)}
	resources, err := forwardTyped(ctx, u.g, c,
		func(ctx context.Context, to *client.Client,
			opts ...client.CallOption) (all []mcp.Resource, err error) {
			for r, err := range to.ReadDirectory(ctx, uri, opts...) {
				if err != nil {
					return nil, err
				}
				all = append(all, *r)
			}
			return all, nil
		})
	if _, undeclared := errors.AsType[*client.UndeclaredError](err); undeclared {
		err = rpc.Errorf(rpc.CodeInvalidParams, "There is no directory %.200q", uri)
	}
	return resources, err
}

// checkSkill returns an error if a file belongs to a skill that has changed since its first use.
func (u *upstreamServer) checkSkill(uri string) error {
	for _, skill := range nametable.SkillsAbove(uri) {
		switch _, reason := u.skills.status(skill); reason {
		case ReasonChanged, ReasonIdentity:
			return rpc.Errorf(rpc.CodeInvalidParams,
				"The skill %q of the server %q is withheld: it has changed since its first use",
				skill, u.id)
		}
	}
	return nil
}
