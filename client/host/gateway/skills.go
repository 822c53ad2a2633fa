package gateway

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host/gateway/internal/nametable"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// readDirectory reads a directory of a dynamic skill from the server.
func (u *upstreamServer) readDirectory(ctx context.Context, uri string) (json.RawMessage, error) {
	resources, err := u.g.call(ctx, &call{kind: mcp.KindResource, directory: true,
		target: u.target(ctx, uri, true)})
	if _, undeclared := errors.AsType[*client.UndeclaredError](err); undeclared {
		err = rpc.Errorf(rpc.CodeInvalidParams, "There is no directory %.200q", uri)
	}
	return resources, err
}

// checkSkill returns an error if a file belongs to a skill that has changed since its first use.
func (u *upstreamServer) checkSkill(uri string) error {
	for _, skill := range nametable.SkillsAbove(uri) {
		switch _, reason := u.list(mcp.KindSkill).status(skill); reason {
		case ReasonChanged, ReasonIdentity:
			return rpc.Errorf(rpc.CodeInvalidParams,
				"The skill %q of the server %q is withheld: it has changed since its first use",
				skill, u.id)
		}
	}
	return nil
}
