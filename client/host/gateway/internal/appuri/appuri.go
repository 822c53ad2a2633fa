// Package appuri converts the URIs of apps (MCP Apps) between those of servers and those that the
// clients of a gateway know.
package appuri

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/stdwire/stdwire/internal/appdef"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// Public returns the URI under which clients know a URI of the server. That of an app gets the
// server's ID as its authority, so that equal URIs of two servers differ: "ui://board/page" of the
// server "a" is "ui://a/board/page".
func Public(id, own string) string {
	if !appdef.IsURI(own) {
		return own
	}
	return mcp.AppScheme + id + "/" + own[len(mcp.AppScheme):]
}

// Own returns the server's own form of a URI that clients know. It reports false for the URI of
// an app of another server.
func Own(id, public string) (string, bool) {
	if !appdef.IsURI(public) {
		return public, true
	}
	of, rest := Split(public)
	return mcp.AppScheme + rest, of == id && rest != ""
}

// Split returns the ID of the server of an app, and the rest of the server's own URI after
// the scheme.
func Split(public string) (id, rest string) {
	id, rest, _ = strings.Cut(public[len(mcp.AppScheme):], "/")
	return id, rest
}

// InTool returns the definition of a tool of a server. Both forms of its _meta have the public URI
// of its app.
func InTool(id string, definition []byte) []byte {
	meta := jsonscan.Member(definition, "_meta")
	if public := publicMeta(id, meta); !bytes.Equal(public, meta) {
		return jsonscan.SetMember(definition, "_meta", public)
	}
	return definition
}

// publicMeta returns the _meta of a tool or of its result. Both forms have the public URI of the
// app. A malformed URI, which a client could take for that of another server, is removed.
func publicMeta(id string, meta []byte) []byte {
	if len(meta) == 0 || meta[0] != '{' {
		return meta
	}
	public := []byte{'{'}
	for key, value := range jsonscan.Members(meta) {
		switch {
		case jsonscan.KeyIs(key, mcp.MetaUIResourceURI):
			if value = publicValue(id, value); value == nil {
				continue
			}
		case jsonscan.KeyIs(key, mcp.MetaUI) && value[0] == '{':
			ui := []byte{'{'}
			for key, value := range jsonscan.Members(value) {
				if jsonscan.KeyIs(key, "resourceUri") {
					if value = publicValue(id, value); value == nil {
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

// publicValue returns the public form of an encoded URI, or nil if it is not the URI of an app.
func publicValue(id string, value []byte) []byte {
	own, ok := jsonscan.Text(value)
	if !ok || !appdef.IsURI(own) {
		return nil
	}
	return jsonscan.AppendString(nil, Public(id, own))
}

// InMessage returns a result of a server, or the params of a question, with the public URIs of apps
// in its content, tools and _meta. A message without URIs of apps is returned unchanged.
func InMessage(id string, message json.RawMessage) json.RawMessage {
	if !mentionsApp(message) || !bytes.HasPrefix(bytes.TrimLeft(message, " \t\r\n"), []byte("{")) ||
		jsonscan.Valid(message) != nil {
		return message
	}
	public, changed := []byte{'{'}, false
	for key, value := range jsonscan.Members(message) {
		was := value
		switch {
		case jsonscan.KeyIs(key, "_meta"):
			value = publicMeta(id, value)
		case jsonscan.KeyIs(key, "content"), jsonscan.KeyIs(key, "messages"):
			value = publicContent(id, value, contentLevels)
		case jsonscan.KeyIs(key, "contents"): // of resources
			value = publicContent(id, value, 1)
		case jsonscan.KeyIs(key, "tools"):
			value = mapObjects(value, func(tool []byte) []byte { return InTool(id, tool) })
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
func publicContent(id string, content []byte, levels int) []byte {
	public := func(block []byte) []byte { return publicBlock(id, block, levels) }
	if content[0] == '{' {
		return public(content)
	}
	return mapObjects(content, public)
}

func publicBlock(id string, block []byte, levels int) []byte {
	public := []byte{'{'}
	for key, value := range jsonscan.Members(block) {
		switch {
		case jsonscan.KeyIs(key, "uri"):
			if app := publicValue(id, value); app != nil {
				value = app
			}
		case levels == 1:
		case jsonscan.KeyIs(key, "resource"), jsonscan.KeyIs(key, "content"):
			value = publicContent(id, value, levels-1)
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
