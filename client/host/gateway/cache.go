package gateway

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxCacheSize limits the size of a cache file in bytes.
const maxCacheSize = 16 << 20

// cachedLists are the lists of a server from an earlier run, which are offered without starting it.
// A list that could not be fetched is absent.
type cachedLists struct {
	Digest    string            `json:"digest"` // Upstream.Digest; a change invalidates the lists
	Name      string            `json:"name"`   // serverInfo.name
	Tools     []json.RawMessage `json:"tools,omitzero"`
	Prompts   []json.RawMessage `json:"prompts,omitzero"`
	Resources []json.RawMessage `json:"resources,omitzero"`
	Templates []json.RawMessage `json:"resourceTemplates,omitzero"`
	Skills    []json.RawMessage `json:"skills,omitzero"`
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
	tools, invalidTools, _ := parseDefinitions[mcp.Tool](mcp.KindTool, textSeq(r.Tools))
	prompts, invalidPrompts, _ := parseDefinitions[mcp.Prompt](mcp.KindPrompt, textSeq(r.Prompts))
	resources, invalidResources, _ := parseDefinitions[mcp.Resource](mcp.KindResource,
		textSeq(r.Resources))
	templates, invalidTemplates, _ := parseDefinitions[mcp.ResourceTemplate](
		mcp.KindResourceTemplate, textSeq(r.Templates))
	skills, invalidSkills, _ := parseDefinitions[mcp.Skill](mcp.KindSkill, textSeq(r.Skills))
	if len(slices.Concat(invalidTools, invalidPrompts, invalidResources, invalidTemplates,
		invalidSkills)) > 0 {
		return false // saveCache writes valid definitions only
	}
	if r.Digest != u.digest {
		// the lists may have changed, but later servers must not get the names in the meantime
		u.tools.reserve(tools)
		u.prompts.reserve(prompts)
		u.resources.reserve(resources)
		u.templates.reserve(templates)
		u.skills.reserve(skills)
		return false
	}
	u.applying.Lock()
	defer u.applying.Unlock()
	if u.ctx.Err() != nil || u.disabled.Load() {
		return true
	}
	u.cached, u.server = text, r.Name
	known := []bool{u.tools.setCached(r.Name, r.Tools == nil, tools),
		u.prompts.setCached(r.Name, r.Prompts == nil, prompts),
		u.resources.setCached(r.Name, r.Resources == nil, resources),
		u.templates.setCached(r.Name, r.Templates == nil, templates),
		u.skills.setCached(r.Name, r.Skills == nil, skills)}
	return !slices.Contains(known, false)
}

// setCached offers a cached list, unless it is missing or the list of a client is offered. It
// reports whether the list is known now.
func (l *itemList[T, S]) setCached(server string, missing bool, all []definition[T]) bool {
	if l.fetcher.source.Load() == nil && !missing {
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
	text, err := mcp.Marshal(
		cachedLists{u.digest, u.server, u.tools.texts, u.prompts.texts, u.resources.texts,
			u.templates.texts, u.skills.texts})
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
