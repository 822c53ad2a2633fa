package gateway

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// publicURI returns the URI under which clients know a URI of the server. That of an app gets the
// server's ID as its authority, so that equal URIs of two servers differ: "ui://board/page" of the
// server "a" is "ui://a/board/page".
func (u *upstreamServer) publicURI(own string) string {
	if !mcp.IsAppURI(own) {
		return own
	}
	return mcp.AppScheme + u.id + "/" + own[len(mcp.AppScheme):]
}

// ownURI returns the server's own form of a URI that clients know. It reports false for the URI of
// an app of another server.
func (u *upstreamServer) ownURI(public string) (string, bool) {
	if !mcp.IsAppURI(public) {
		return public, true
	}
	id, rest := splitAppURI(public)
	return mcp.AppScheme + rest, id == u.id && rest != ""
}

// splitAppURI returns the ID of the server of an app, and the rest of the server's own URI after
// the scheme.
func splitAppURI(public string) (id, rest string) {
	id, rest, _ = strings.Cut(public[len(mcp.AppScheme):], "/")
	return id, rest
}

// appOwner returns the server that an app's public URI names, if d offers it, or nil.
func (g *Gateway) appOwner(d *downstream, uri string) *upstreamServer {
	id, rest := splitAppURI(uri)
	if rest == "" || !d.includes(id) {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.upstreams[id]
}

// withPublicApp returns the definition of a tool. Both forms of its _meta have the public URI of
// its app.
func (u *upstreamServer) withPublicApp(definition []byte) []byte {
	meta := jsonscan.Member(definition, "_meta")
	if public := u.publicMeta(meta); !bytes.Equal(public, meta) {
		return jsonscan.SetMember(definition, "_meta", public)
	}
	return definition
}

// publicMeta returns the _meta of a tool or of its result. Both forms have the public URI of the
// app. A malformed URI, which a client could take for that of another server, is removed.
func (u *upstreamServer) publicMeta(meta []byte) []byte {
	if len(meta) == 0 || meta[0] != '{' {
		return meta
	}
	public := []byte{'{'}
	for key, value := range jsonscan.Members(meta) {
		switch {
		case jsonscan.KeyIs(key, mcp.MetaUIResourceURI):
			if value = u.publicAppURI(value); value == nil {
				continue
			}
		case jsonscan.KeyIs(key, mcp.MetaUI) && value[0] == '{':
			ui := []byte{'{'}
			for key, value := range jsonscan.Members(value) {
				if jsonscan.KeyIs(key, "resourceUri") {
					if value = u.publicAppURI(value); value == nil {
						continue
					}
				}
				ui = jsonscan.AppendMember(ui, key, value)
			}
			value = append(ui, '}')
		}
		public = jsonscan.AppendMember(public, key, value)
	}
	return append(public, '}')
}

// publicAppURI returns the public form of an encoded URI, or nil if it is not the URI of an app.
func (u *upstreamServer) publicAppURI(value []byte) []byte {
	own, ok := jsonscan.Text(value)
	if !ok || !mcp.IsAppURI(own) {
		return nil
	}
	return jsonscan.AppendString(nil, u.publicURI(own))
}

// publicMessage returns a result, or the params of a question, with the public URIs of apps in its
// content, tools and _meta. A message without URIs of apps is returned unchanged.
func (u *upstreamServer) publicMessage(message json.RawMessage) json.RawMessage {
	if !mentionsApp(message) || !bytes.HasPrefix(bytes.TrimLeft(message, " \t\r\n"), []byte("{")) ||
		jsonscan.Valid(message) != nil {
		return message
	}
	public, changed := []byte{'{'}, false
	for key, value := range jsonscan.Members(message) {
		was := value
		switch {
		case jsonscan.KeyIs(key, "_meta"):
			value = u.publicMeta(value)
		case jsonscan.KeyIs(key, "content"), jsonscan.KeyIs(key, "messages"):
			value = u.publicContent(value, contentLevels)
		case jsonscan.KeyIs(key, "contents"): // of resources
			value = u.publicContent(value, 1)
		case jsonscan.KeyIs(key, "tools"):
			value = mapObjects(value, u.withPublicApp)
		}
		changed = changed || !bytes.Equal(was, value)
		public = jsonscan.AppendMember(public, key, value)
	}
	if !changed {
		return message
	}
	return append(public, '}')
}

// mentionsApp reports whether JSON may contain the URI of an app: the scheme at the start of a
// string, or one of its characters as an escape. It scans for colons, because they are rarer than
// quotation marks.
func mentionsApp(text []byte) bool {
	for at := 0; ; at++ {
		next := bytes.IndexByte(text[at:], ':')
		if next < 0 {
			break
		}
		if at += next; at > 2 && text[at-3] == '"' && text[at-2]|0x20 == 'u' &&
			text[at-1]|0x20 == 'i' {
			return true
		}
	}
	for escape := []byte(`\u00`); ; {
		_, after, found := bytes.Cut(text, escape)
		if !found {
			return false
		}
		switch string(after[:min(2, len(after))]) {
		case "75", "55", "69", "49", "3a", "3A":
			return true
		}
		text = after
	}
}

// contentLevels is how many levels of content have URIs: a message for a model contains the result
// of a tool, which contains a block, which contains a resource.
const contentLevels = 4

// publicContent returns a message, a content block or a resource, or an array of these, with the
// public URIs of apps in this many levels.
func (u *upstreamServer) publicContent(content []byte, levels int) []byte {
	public := func(block []byte) []byte { return u.publicBlock(block, levels) }
	if content[0] == '{' {
		return public(content)
	}
	return mapObjects(content, public)
}

func (u *upstreamServer) publicBlock(block []byte, levels int) []byte {
	public := []byte{'{'}
	for key, value := range jsonscan.Members(block) {
		switch {
		case jsonscan.KeyIs(key, "uri"):
			if app := u.publicAppURI(value); app != nil {
				value = app
			}
		case levels == 1:
		case jsonscan.KeyIs(key, "resource"), jsonscan.KeyIs(key, "content"):
			value = u.publicContent(value, levels-1)
		}
		public = jsonscan.AppendMember(public, key, value)
	}
	return append(public, '}')
}

// mapObjects returns an array with f applied to its objects. Any other value is returned unchanged.
func mapObjects(array []byte, f func([]byte) []byte) []byte {
	if array[0] != '[' {
		return array
	}
	mapped := []byte{'['}
	for element := range jsonscan.Elements(array) {
		if len(mapped) > 1 {
			mapped = append(mapped, ',')
		}
		if element[0] == '{' {
			element = f(element)
		}
		mapped = append(mapped, element...)
	}
	return append(mapped, ']')
}

// resolveForApp converts the name of a tool, or the URI of a resource, that an app uses to the
// public one of the app's server. If app is "", the name belongs to the only server with apps that
// has it.
func (g *Gateway) resolveForApp(d *downstream, app string, kind mcp.Kind,
	name string) (string, error) {
	if app == "" {
		return g.resolveUnknownTool(d, name)
	}
	u := g.appOwner(d, app)
	if u == nil {
		return "", rpc.Errorf(rpc.CodeInvalidParams, "There is no app %.200q", app)
	}
	if kind == mcp.KindTool {
		if public, ok := u.list(mcp.KindTool).publicName(name); ok {
			return public, nil
		}
		return "", rpc.Errorf(rpc.CodeInvalidParams, "Unknown tool of the app: %.200s", name)
	}
	if _, own := u.ownURI(name); own && mcp.IsAppURI(name) {
		return name, nil
	}
	if mcp.IsAppURI(name) {
		if id, rest := splitAppURI(name); rest != "" && d.includes(id) && g.hasServer(id) {
			return "", server.ResourceNotFound(name) // the URI of another server's app
		}
		return u.publicURI(name), nil
	}
	if g.ownerOf(d, name) != u {
		return "", server.ResourceNotFound(name)
	}
	return name, nil
}

func (g *Gateway) hasServer(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.upstreams[id] != nil
}

// resolveUnknownTool returns the public name for a name that an app may use for a tool of its
// server, or "" if no server with apps has such a tool. It fails if several have one.
func (g *Gateway) resolveUnknownTool(d *downstream, own string) (string, error) {
	found, owner := "", ""
	for _, u := range g.allUpstreams() {
		if !d.includes(u.id) || !u.hasApps.Load() {
			continue
		}
		public, ok := u.list(mcp.KindTool).publicName(own)
		switch {
		case !ok:
		case found != "":
			return "", rpc.Errorf(rpc.CodeInvalidParams,
				"Unknown tool: %.200s; the apps of several servers have one, such as %q and %q: "+
					"the host must name the app in _meta[%q]", own, min(owner, u.id),
				max(owner, u.id), mcp.MetaApp)
		default:
			found, owner = public, u.id
		}
	}
	return found, nil
}

// publicName returns the public name of an offered item. name is that name or the server's own
// name.
func (l *itemList[S]) publicName(name string) (public string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for public := range l.offered {
		if l.claimed[public] == name {
			return public, true
		}
	}
	_, ok = l.offered[name]
	return name, ok
}

// extensionOf returns the extension that a resource belongs to, or "".
func extensionOf(uri, mimeType string) string {
	if mcp.IsAppURI(uri) || mimeType == mcp.AppMIMEType {
		return mcp.ExtensionApps
	}
	return ""
}
