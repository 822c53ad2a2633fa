package gateway

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxCacheSize limits the size of a cache file in bytes.
const maxCacheSize = 16 << 20

// cachedLists are the lists that a server had last time; they are offered without starting it.
type cachedLists struct {
	// of the server's configuration; a change invalidates the lists
	Digest    string            `json:"digest"`
	Name      string            `json:"name"` // the server's name for itself
	Tools     []json.RawMessage `json:"tools"`
	Prompts   []json.RawMessage `json:"prompts"`
	Resources []json.RawMessage `json:"resources"`
	Templates []json.RawMessage `json:"resourceTemplates"`
}

func (m *upstreamServer) cachePath() string {
	return filepath.Join(m.g.o.Remember, atomicfile.Name(m.id+".json"))
}

// usesCache reports whether the server's lists are cached.
func (m *upstreamServer) usesCache() bool { return m.g.o.Remember != "" && m.digest != "" }

// loadCache offers the cached lists. It reports false if there are none or the file is invalid; the
// server is listed then.
func (m *upstreamServer) loadCache() bool {
	if !m.usesCache() {
		return false
	}
	info, err := os.Stat(m.cachePath())
	if err != nil || info.Size() > maxCacheSize {
		return false
	}
	text, err := os.ReadFile(m.cachePath())
	var r cachedLists
	if err != nil || mcp.Unmarshal(text, &r) != nil {
		return false
	}
	tools, oddTools, _ := parseDefinitions[mcp.Tool](kindTool, textSeq(r.Tools))
	prompts, oddPrompts, _ := parseDefinitions[mcp.Prompt](kindPrompt, textSeq(r.Prompts))
	resources, oddResources, _ := parseDefinitions[mcp.Resource](kindResource, textSeq(r.Resources))
	templates, oddTemplates, _ := parseDefinitions[mcp.ResourceTemplate](kindTemplate,
		textSeq(r.Templates))
	if len(slices.Concat(oddTools, oddPrompts, oddResources, oddTemplates)) > 0 {
		// nothing such was written
		return false
	}
	if r.Digest != m.digest {
		// what it has now is another thing; what it had is still not another server's
		m.tools.reserve(tools)
		m.prompts.reserve(prompts)
		m.resources.reserve(resources)
		m.templates.reserve(templates)
		return false
	}
	m.cached = text
	m.known.Store(true)
	m.tools.setListed(r.Name, tools, nil)
	m.prompts.setListed(r.Name, prompts, nil)
	m.resources.setListed(r.Name, resources, nil)
	m.templates.setListed(r.Name, templates, nil)
	return true
}

// saveCache writes the lists if they have changed.
func (m *upstreamServer) saveCache(name string) {
	if !m.usesCache() {
		return
	}
	text, err := mcp.Marshal(
		cachedLists{m.digest, name, definitionTexts(m.tools.listed),
			definitionTexts(m.prompts.listed), definitionTexts(m.resources.listed),
			definitionTexts(m.templates.listed)})
	if err != nil || bytes.Equal(text, m.cached) || len(text) > maxCacheSize {
		return
	}
	if err = os.MkdirAll(m.g.o.Remember, 0o700); err == nil {
		err = atomicfile.Write(m.cachePath(), json.RawMessage(text), 0o600)
	}
	if err != nil {
		m.warn("what a server has is not remembered", err)
		return
	}
	m.cached = text
}
