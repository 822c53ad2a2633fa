package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/internal/jsonscan"
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
	offered := *d.item
	offered.Name = public
	name, idempotent := d.item.Name, d.item.Annotations.Idempotent()
	definition, extension := u.publicDefinition(d.passed, name, public, d.item.Description), ""
	if hasUI(d.item) {
		definition = u.withPublicApp(definition)
		if onlyForApps(d.item) {
			extension = mcp.ExtensionApps
		}
		u.hasApps.Store(true)
	}
	return s.AddRawTool(
		server.RawTool{Tool: offered, NeedsSession: u.perSession, Extension: extension,
			Definition: definition,
			Forward: func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
				return u.g.callTool(ctx, u.target(ctx, name, idempotent), arguments)
			}})
}

func (u *upstreamServer) putPrompt(s *server.Server, public string,
	d definition[mcp.Prompt]) error {
	offered := *d.item
	offered.Name = public
	name := d.item.Name
	return s.AddPrompt(
		server.Prompt{Prompt: offered, NeedsSession: u.perSession,
			Definition: u.publicDefinition(d.passed, name, public, d.item.Description),
			Get: func(ctx context.Context, arguments map[string]string) (*mcp.GetPromptResult,
				error) {
				text, err := mcp.Marshal(arguments)
				if err != nil {
					return nil, err
				}
				c := &call{kind: mcp.KindPrompt, target: u.target(ctx, name, true),
					arguments: text}
				result, err := forwardTyped(ctx, u.g, c,
					func(ctx context.Context, to *client.Client,
						opts ...client.CallOption) (*mcp.GetPromptResult, error) {
						if err := u.prompts.comparePin(ctx, c, to); err != nil {
							return nil, err
						}
						return to.GetPrompt(ctx, name, arguments, opts...)
					})
				if err == nil && mentionsApp(c.result) {
					result = new(mcp.GetPromptResult)
					err = mcp.Unmarshal(u.publicMessage(c.result), result)
				}
				return result, err
			},
			Complete: u.complete(mcp.CompleteReference{Type: mcp.RefPrompt, Name: name}),
		})
}

func (u *upstreamServer) putResource(s *server.Server, public string,
	d definition[mcp.Resource]) error {
	offered, definition := *d.item, d.passed
	extension := extensionOf(d.item.URI, d.item.MIMEType)
	if offered.URI != public {
		offered.URI = public
		definition = jsonscan.SetMember(definition, "uri", jsonscan.AppendString(nil, public))
	}
	return s.AddResource(
		server.Resource{Resource: offered, NeedsSession: u.perSession, Definition: definition,
			Extension: extension, Read: u.read})
}

func (u *upstreamServer) putTemplate(s *server.Server, public string,
	d definition[mcp.ResourceTemplate]) error {
	offered, definition := *d.item, d.passed
	extension := extensionOf(d.item.URITemplate, d.item.MIMEType)
	if offered.URITemplate != public {
		offered.URITemplate = public
		definition = jsonscan.SetMember(definition, "uriTemplate",
			jsonscan.AppendString(nil, public))
	}
	return s.AddResourceTemplate(
		server.ResourceTemplate{ResourceTemplate: offered, NeedsSession: u.perSession,
			Definition: definition, Extension: extension,
			Read: func(ctx context.Context, uri string,
				_ map[string]string) (*mcp.ReadResourceResult, error) {
				return u.readMatched(ctx, s, uri)
			},
			Complete: u.complete(
				mcp.CompleteReference{Type: mcp.RefResource, URI: d.item.URITemplate}),
		})
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
