// Package listcache reads the files in which a gateway keeps the lists of servers from one run to
// the next, so that it offers them without starting the servers.
package listcache

import (
	"encoding/json"
	"path/filepath"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// MaxSize limits the size of a file in bytes.
const MaxSize = 16 << 20

// Lists are the lists of a server. One that could not be fetched is absent.
type Lists struct {
	Digest string `json:"digest"` // of the server's definition; a change invalidates the lists
	Name   string `json:"name"`   // serverInfo.name
	// The instructions of the server.
	Instructions string            `json:"instructions,omitempty"`
	Tools        []json.RawMessage `json:"tools,omitzero"`
	Prompts      []json.RawMessage `json:"prompts,omitzero"`
	Resources    []json.RawMessage `json:"resources,omitzero"`
	Templates    []json.RawMessage `json:"resourceTemplates,omitzero"`
	Skills       []json.RawMessage `json:"skills,omitzero"`
}

// Of returns the list of a kind.
func (l *Lists) Of(kind mcp.Kind) *[]json.RawMessage {
	switch kind {
	case mcp.KindTool:
		return &l.Tools
	case mcp.KindPrompt:
		return &l.Prompts
	case mcp.KindResource:
		return &l.Resources
	case mcp.KindResourceTemplate:
		return &l.Templates
	}
	return &l.Skills
}

// Path returns the path of the file of a server.
func Path(dir, id string) string { return filepath.Join(dir, atomicfile.Name(id+".json")) }

// Read reads a file. text is its content.
func Read(path string) (lists Lists, text []byte, ok bool) {
	text, err := userfile.Read(path, MaxSize)
	return lists, text, err == nil && mcp.Unmarshal(text, &lists) == nil
}

// Tools returns the tools of a server with this digest, for a program that suggests names. It
// returns nil if there are none, or the file is invalid.
func Tools(dir, id, digest string) (tools []*mcp.Tool) {
	lists, _, ok := Read(Path(dir, id))
	if !ok || digest == "" || lists.Digest != digest {
		return nil
	}
	for _, text := range lists.Tools {
		tool := new(mcp.Tool)
		if mcp.Unmarshal(text, tool) != nil {
			return nil
		}
		tools = append(tools, tool)
	}
	return tools
}
