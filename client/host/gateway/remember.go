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

// maxRemembered is how large a file of what a server had may be.
const maxRemembered = 16 << 20

// A remembered is what a server had the last time, so that it need not be started only to say so.
type remembered struct {
	Digest    string            `json:"digest"` // of its definition: another one has something else
	Name      string            `json:"name"`   // as the server calls itself
	Tools     []json.RawMessage `json:"tools"`
	Prompts   []json.RawMessage `json:"prompts"`
	Resources []json.RawMessage `json:"resources"`
	Templates []json.RawMessage `json:"resourceTemplates"`
}

func (m *mount) memory() string { return filepath.Join(m.g.o.Remember, atomicfile.Name(m.id+".json")) }

// remembers reports whether what the server has is kept from one run to the next.
func (m *mount) remembers() bool { return m.g.o.Remember != "" && m.digest != "" }

// recall offers what the server had the last time. It reports false if that is not known; whatever is wrong with the file, the server will say it again.
func (m *mount) recall() bool {
	if !m.remembers() {
		return false
	}
	info, err := os.Stat(m.memory())
	if err != nil || info.Size() > maxRemembered {
		return false
	}
	text, err := os.ReadFile(m.memory())
	var r remembered
	if err != nil || mcp.Unmarshal(text, &r) != nil {
		return false
	}
	tools, oddTools, _ := collect[mcp.Tool](kindTool, each(r.Tools))
	prompts, oddPrompts, _ := collect[mcp.Prompt](kindPrompt, each(r.Prompts))
	resources, oddResources, _ := collect[mcp.Resource](kindResource, each(r.Resources))
	templates, oddTemplates, _ := collect[mcp.ResourceTemplate](kindTemplate, each(r.Templates))
	if len(slices.Concat(oddTools, oddPrompts, oddResources, oddTemplates)) > 0 { // nothing such was written
		return false
	}
	if r.Digest != m.digest { // what it has now is another thing; what it had is still not another server's
		m.tools.reserve(tools)
		m.prompts.reserve(prompts)
		m.resources.reserve(resources)
		m.templates.reserve(templates)
		return false
	}
	m.saved = text
	m.known.Store(true)
	m.tools.show(r.Name, tools, nil)
	m.prompts.show(r.Name, prompts, nil)
	m.resources.show(r.Name, resources, nil)
	m.templates.show(r.Name, templates, nil)
	return true
}

// remember keeps what the server has now, if that is not what is kept.
func (m *mount) remember(name string) {
	if !m.remembers() {
		return
	}
	text, err := mcp.Marshal(remembered{m.digest, name, texts(m.tools.listed), texts(m.prompts.listed), texts(m.resources.listed), texts(m.templates.listed)})
	if err != nil || bytes.Equal(text, m.saved) || len(text) > maxRemembered {
		return
	}
	if err = os.MkdirAll(m.g.o.Remember, 0o700); err == nil {
		err = atomicfile.Write(m.memory(), json.RawMessage(text), 0o600)
	}
	if err != nil {
		m.warn("what a server has is not remembered", err)
		return
	}
	m.saved = text
}
