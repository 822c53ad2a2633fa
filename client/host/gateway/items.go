package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// target returns the target with this own name for the client of the request in ctx.
func (u *upstreamServer) target(ctx context.Context, own string, idempotent bool) target {
	t := target{upstream: u, perSession: u.perSession, id: u.id, name: own, idempotent: idempotent,
		conn: server.ConnFrom(ctx), owner: ownerOf(ctx), level: u.level,
		meta: forwardedMeta(ctx), maxArguments: u.maxArguments, maxResult: u.maxResult}
	if u.perSession && !t.isStateless() {
		t.session = t.owner
	}
	return t
}

// publicName returns the public name of a tool or prompt.
func (u *upstreamServer) publicName(own string) string {
	if u.g.o.NoPrefix {
		return own
	}
	return host.PublicName(u.id, own, u.g.o.MaxName)
}

// publicNames returns the function that distinguishes the public names of tools or prompts, or nil
// if they are the server's own.
func (u *upstreamServer) publicNames() func(own []string) map[string]string {
	if u.g.o.NoPrefix {
		return nil
	}
	return func(own []string) map[string]string {
		return host.PublicNames(u.id, own, u.g.o.MaxName)
	}
}

// publicDefinition returns the definition of a tool or prompt with its public name and, unless
// Options.NoDescriptionPrefix is set, with the prefix of the description. The prefix alone is the
// description of an item without one, so that a reader still sees the server.
func (u *upstreamServer) publicDefinition(text json.RawMessage, own, public,
	description string) json.RawMessage {
	if !u.g.o.NoDescriptionPrefix {
		prefixed := "[" + u.id + "]"
		if strings.TrimSpace(description) != "" {
			prefixed += " " + description
		}
		return withName(text, public, prefixed)
	}
	if own == public {
		return text
	}
	return withName(text, public, description)
}

func (u *upstreamServer) putTool(s *server.Server, public string, d definition[mcp.Tool]) error {
	name, idempotent := d.item.Name, d.item.Annotations.Idempotent()
	definition, extension := u.publicDefinition(d.passed, name, public, d.item.Description), ""
	if hasUI(d.item) {
		definition = u.withPublicApp(definition)
		if onlyForApps(d.item) {
			extension = mcp.ExtensionApps
		}
		u.hasApps.Store(true)
	}
	return s.Integration().AddItem(server.Item{Kind: mcp.KindTool, Definition: definition,
		NeedsSession: u.perSession, Extension: extension,
		Use: func(ctx context.Context, _ string, arguments json.RawMessage) (json.RawMessage,
			error) {
			return u.g.call(ctx, &call{kind: mcp.KindTool, target: u.target(ctx, name, idempotent),
				arguments: arguments})
		}})
}

func (u *upstreamServer) putPrompt(s *server.Server, public string,
	d definition[mcp.Prompt]) error {
	name := d.item.Name
	return s.Integration().AddItem(server.Item{Kind: mcp.KindPrompt, NeedsSession: u.perSession,
		Definition: u.publicDefinition(d.passed, name, public, d.item.Description),
		Use: func(ctx context.Context, _ string, arguments json.RawMessage) (json.RawMessage,
			error) {
			return u.g.call(ctx, &call{kind: mcp.KindPrompt, target: u.target(ctx, name, true),
				arguments: arguments})
		},
		Complete: u.complete(mcp.CompleteReference{Type: mcp.RefPrompt, Name: name})})
}

func (u *upstreamServer) putResource(s *server.Server, public string,
	d definition[mcp.Resource]) error {
	return s.Integration().AddItem(server.Item{Kind: mcp.KindResource,
		Definition:   withKey(mcp.KindResource, d.passed, public),
		NeedsSession: u.perSession, Extension: extensionOf(d.item.URI, d.item.MIMEType),
		Use: u.read})
}

func (u *upstreamServer) putTemplate(s *server.Server, public string,
	d definition[mcp.ResourceTemplate]) error {
	return s.Integration().AddItem(server.Item{Kind: mcp.KindResourceTemplate,
		Definition:   withKey(mcp.KindResourceTemplate, d.passed, public),
		NeedsSession: u.perSession, Extension: extensionOf(d.item.URITemplate, d.item.MIMEType),
		Use: func(ctx context.Context, uri string, _ json.RawMessage) (json.RawMessage, error) {
			return u.readMatched(ctx, s, uri)
		},
		Complete: u.complete(
			mcp.CompleteReference{Type: mcp.RefResource, URI: d.item.URITemplate})})
}

// putSkill offers a skill. Its definition, including the digests, stays as the server wrote it.
func (u *upstreamServer) putSkill(s *server.Server, _ string, d definition[mcp.Skill]) error {
	return s.Integration().AddItem(server.Item{Kind: mcp.KindSkill, NeedsSession: u.perSession,
		Definition: d.passed, Use: u.read, ReadDirectory: u.readDirectory})
}

// complete returns a completer that asks the server. It suggests nothing if the server does not
// declare completions.
func (u *upstreamServer) complete(ref mcp.CompleteReference) server.Completer {
	return func(ctx context.Context, argument, typed string,
		resolved map[string]string) (mcp.Completion, error) {
		var found mcp.Completion
		t := u.target(ctx, "", true)
		err := u.g.use(ctx, &t, false, func(c *client.Client) error {
			completion, err := c.Complete(ctx, ref, argument, typed, resolved,
				metaOption(t.metaFor(ctx, c))...)
			if err == nil {
				found = *completion
			}
			return err
		})
		if _, none := errors.AsType[*client.UndeclaredError](err); none {
			return mcp.Completion{Values: []string{}}, nil
		}
		return found, clientError(err)
	}
}
