package gateway

import (
	"encoding/json"
	"strings"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/gateway/internal/appuri"
	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/client/host/gateway/internal/largeresult"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// publicName returns the public name of a tool or prompt.
func (u *upstreamServer) publicName(own string) string {
	if u.g.o.NoPrefix {
		return own
	}
	return host.PublicName(u.id, own, u.g.o.MaxName)
}

// publicDefinition returns a definition with its public name or URI. That of a skill, including the
// digests, stays as the server wrote it.
func (u *upstreamServer) publicDefinition(kind mcp.Kind, d *definition.Definition,
	public string) json.RawMessage {
	switch kind {
	case mcp.KindTool:
		text := u.renamed(d, public)
		if output := jsonscan.Member(text, "outputSchema"); output != nil && u.mayShortenTool(d) {
			text = jsonscan.SetMember(text, "outputSchema", largeresult.Schema(output))
		}
		if d.HasApp {
			text = appuri.InTool(u.id, text)
		}
		return text
	case mcp.KindPrompt:
		return u.renamed(d, public)
	case mcp.KindResource, mcp.KindResourceTemplate:
		return definition.WithKey(kind, d.Passed, public)
	}
	return d.Passed
}

// renamed returns the definition of a tool or prompt with its public name and, unless
// Options.NoDescriptionPrefix is set, with the prefix of the description. The prefix alone is the
// description of an item without one, so that a reader still sees the server.
func (u *upstreamServer) renamed(d *definition.Definition, public string) json.RawMessage {
	if u.g.o.NoDescriptionPrefix && d.Own == public {
		return d.Passed
	}
	description, _ := jsonscan.Text(jsonscan.Member(d.Passed, "description"))
	switch {
	case u.g.o.NoDescriptionPrefix:
	case strings.TrimSpace(description) == "":
		description = "[" + u.id + "]"
	default:
		description = "[" + u.id + "] " + description
	}
	return definition.WithName(d.Passed, public, description)
}

// mayShorten reports whether a result of the server may be shortened.
func (u *upstreamServer) mayShorten() bool {
	for _, limit := range u.maxResultText {
		if limit > 0 {
			return true
		}
	}
	return u.g.o.MaxResultText != nil
}

// mayShortenTool reports whether a result of a tool may be shortened. One of an app is not, because
// the app reads it.
func (u *upstreamServer) mayShortenTool(d *definition.Definition) bool {
	limit, given := u.maxText(d.Own)
	return !d.HasApp && !d.OnlyForApps && (limit > 0 || !given && u.g.o.MaxResultText != nil)
}

// maxText returns the limit of the server's definition for a tool.
func (u *upstreamServer) maxText(own string) (limit int, given bool) {
	if limit, given = u.maxResultText[own]; !given {
		limit, given = u.maxResultText["*"]
	}
	return limit, given
}
