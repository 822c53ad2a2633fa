package gateway

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/stdwire/stdwire/client/host/gateway/internal/definition"
	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxCacheSize limits the size of a cache file in bytes.
const maxCacheSize = 16 << 20

// cachedLists are the lists of a server from an earlier run, which are offered without starting it.
// A list that could not be fetched is absent.
type cachedLists struct {
	Digest string `json:"digest"` // Upstream.Digest; a change invalidates the lists
	Name   string `json:"name"`   // serverInfo.name
	// The instructions of the server.
	Instructions string            `json:"instructions,omitempty"`
	Tools        []json.RawMessage `json:"tools,omitzero"`
	Prompts      []json.RawMessage `json:"prompts,omitzero"`
	Resources    []json.RawMessage `json:"resources,omitzero"`
	Templates    []json.RawMessage `json:"resourceTemplates,omitzero"`
	Skills       []json.RawMessage `json:"skills,omitzero"`
}

// of returns the list of a kind.
func (c *cachedLists) of(kind mcp.Kind) *[]json.RawMessage {
	switch kind {
	case mcp.KindTool:
		return &c.Tools
	case mcp.KindPrompt:
		return &c.Prompts
	case mcp.KindResource:
		return &c.Resources
	case mcp.KindResourceTemplate:
		return &c.Templates
	}
	return &c.Skills
}

func (u *upstreamServer) cachePath() string { return cachePath(u.g.o.CacheDir, u.id) }

func cachePath(dir, id string) string { return filepath.Join(dir, atomicfile.Name(id+".json")) }

// readCache reads a cache file. text is its content.
func readCache(path string) (lists cachedLists, text []byte, ok bool) {
	text, err := userfile.Read(path, maxCacheSize)
	return lists, text, err == nil && mcp.Unmarshal(text, &lists) == nil
}

// CachedTools returns the cached tools of a server, for a program that suggests names. It does not
// start the server. dir and digest are the Options.CacheDir and Upstream.Digest of the gateway
// that has listed the server. CachedTools returns nil if there are no cached tools or the file is
// invalid.
func CachedTools(dir, id, digest string) (tools []*mcp.Tool) {
	lists, _, ok := readCache(cachePath(dir, id))
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

// usesCache reports whether the server's lists are cached.
func (u *upstreamServer) usesCache() bool { return u.g.o.CacheDir != "" && u.digest != "" }

// loadCache offers the cached lists, but for those that were fetched meanwhile. It reports false if
// a list is missing or the file is invalid, so that the server must be listed.
func (u *upstreamServer) loadCache() (complete bool) {
	if !u.usesCache() {
		return false
	}
	r, text, ok := readCache(u.cachePath())
	if !ok {
		return false
	}
	all := make([][]*definition.Definition, len(u.lists))
	for i, l := range u.lists {
		var invalid []definition.Invalid
		all[i], invalid = definition.ParseTexts(l.kind, *r.of(l.kind), u.overrides)
		if invalid != nil {
			return false // saveCache writes valid definitions only
		}
	}
	if r.Digest != u.digest {
		// the lists may have changed, but later servers must not get the names in the meantime
		for i, l := range u.lists {
			l.reserve(all[i])
		}
		return false
	}
	u.applying.Lock()
	defer u.applying.Unlock()
	if u.ctx.Err() != nil || u.disabled.Load() {
		return true
	}
	u.cached, u.server = text, r.Name
	complete = true
	for i, l := range u.lists {
		complete = l.setCached(r.Name, *r.of(l.kind) == nil, all[i]) && complete
	}
	u.setInstructions(r.Name, r.Instructions) // after the tools, see admitInstructions
	return complete
}

// setCached offers a cached list, unless it is missing or the list of a client is offered. It
// reports whether the list is known now.
func (l *itemList) setCached(server string, missing bool, all []*definition.Definition) bool {
	if l.fetcher.Source() == nil && !missing {
		l.setListed(server, all, nil)
	}
	return l.hasListed
}

// saveCache writes the lists if one was fetched since the last time and they have changed.
func (u *upstreamServer) saveCache() {
	if !u.usesCache() {
		return
	}
	u.applying.Lock()
	defer u.applying.Unlock()
	if !u.unsaved {
		return
	}
	u.unsaved = false
	lists := cachedLists{Digest: u.digest, Name: u.server, Instructions: u.instructions.Load().text}
	for _, l := range u.lists {
		*lists.of(l.kind) = l.texts
	}
	text, err := mcp.Marshal(lists)
	if err != nil || bytes.Equal(text, u.cached) || len(text) > maxCacheSize {
		return
	}
	if err = os.MkdirAll(u.g.o.CacheDir, 0o700); err == nil {
		err = atomicfile.Write(u.cachePath(), json.RawMessage(text), 0o600)
	}
	if err != nil {
		u.warn("the lists of a server cannot be cached", err)
		return
	}
	u.cached = text
}
