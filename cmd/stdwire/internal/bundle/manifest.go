// Package bundle reads, writes and extracts bundles of MCP servers: .mcpb files, which are ZIP
// archives of a server's files with a manifest.json. It starts nothing.
//
// A bundle may come from anybody. [Open] and [Bundle.Extract] trust nothing in it: they have limits
// for the number of files, their sizes and their compression ratio, and refuse names that lead out
// of the directory, links and devices.
package bundle

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// ManifestVersion is the version of the manifests that are written. 0.1 and 0.2 are read, too.
const ManifestVersion = "0.3"

// ManifestName is the name of the manifest in a bundle.
const ManifestName = "manifest.json"

//go:embed manifest.schema.json
var manifestSchema string

// A Manifest describes a bundle. It has only the members that stdwire uses.
type Manifest struct {
	Version     string            `json:"manifest_version"`
	Name        string            `json:"name"`
	DisplayName string            `json:"display_name,omitempty"`
	Release     string            `json:"version"` // of the server
	Description string            `json:"description"`
	Author      Author            `json:"author"`
	Icon        string            `json:"icon,omitempty"`
	Homepage    string            `json:"homepage,omitempty"`
	Repository  *Repository       `json:"repository,omitempty"`
	Server      Server            `json:"server"`
	Tools       []Tool            `json:"tools,omitempty"`
	License     string            `json:"license,omitempty"`
	Platforms   *Compatibility    `json:"compatibility,omitempty"`
	UserConfig  map[string]Option `json:"user_config,omitempty"`
}

// An Author is the author of a bundle.
type Author struct {
	Name string `json:"name"`
}

// A Repository is where the source of a bundle is.
type Repository struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// A Server says how the server of a bundle is started.
type Server struct {
	Type       string `json:"type"` // binary, node or python
	EntryPoint string `json:"entry_point"`
	Config     Config `json:"mcp_config"`
}

// A Config is a command with its overrides by platform.
type Config struct {
	Launch
	Overrides map[string]Launch `json:"platform_overrides,omitempty"`
}

// A Launch is a command. Its strings may contain variables such as ${__dirname}.
type Launch struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// For returns the command for a system.
func (c Config) For(goos string) Launch {
	l := c.Launch
	if o, ok := c.Overrides[Platform(goos)]; ok {
		l.Command = cmp.Or(o.Command, l.Command)
		if o.Args != nil {
			l.Args = o.Args
		}
		if o.Env != nil {
			l.Env = o.Env
		}
	}
	return l
}

// A Tool is a tool that the server says it has.
type Tool struct {
	Name string `json:"name"`
}

// Compatibility lists the platforms that a bundle is for: linux, darwin and win32.
type Compatibility struct {
	Platforms []string `json:"platforms,omitempty"`
}

// An Option is a value that the user gives, ${user_config.KEY}.
type Option struct {
	Type        string          `json:"type"` // string, number, boolean, directory or file
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Required    bool            `json:"required,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Multiple    bool            `json:"multiple,omitempty"`
	Sensitive   bool            `json:"sensitive,omitempty"`
	Min         *float64        `json:"min,omitempty"`
	Max         *float64        `json:"max,omitempty"`
}

// ParseManifest parses a manifest and checks it, except for the files that it names.
func ParseManifest(data []byte) (*Manifest, error) {
	s, err := schema.Compile([]byte(manifestSchema))
	if err != nil {
		return nil, err
	}
	data = jsonscan.TrimBOM(data)
	var version struct {
		Version string `json:"manifest_version"`
		Old     string `json:"dxt_version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("%s is not JSON: %w", ManifestName, err)
	}
	if version.Version == "" && version.Old != "" { // the name before 0.3
		data, err = renameVersion(data)
		if err != nil {
			return nil, err
		}
	}
	if err := s.Validate(data); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	if !fs.ValidPath(m.Server.EntryPoint) {
		return nil, fmt.Errorf("%s: the entry point %.100q is not a path within the bundle",
			ManifestName, m.Server.EntryPoint)
	}
	return m, nil
}

// renameVersion renames dxt_version to manifest_version.
func renameVersion(data []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	all["manifest_version"] = all["dxt_version"]
	delete(all, "dxt_version")
	return json.Marshal(all)
}

// Check returns an error if the manifest names a file that is not one of files.
func (m *Manifest) Check(files []string) error {
	for _, f := range []struct{ what, name string }{{"entry point", m.Server.EntryPoint},
		{"icon", m.Icon}} {
		if f.name != "" && !strings.Contains(f.name, "://") && !slices.Contains(files, f.name) {
			return fmt.Errorf("%s: the %s %.100q is not in the bundle", ManifestName, f.what, f.name)
		}
	}
	return nil
}

// Platform returns the name of a system in manifests.
func Platform(goos string) string {
	if goos == "windows" {
		return "win32"
	}
	return goos
}

// RunsOn reports whether the bundle is for a system.
func (m *Manifest) RunsOn(goos string) bool {
	return m.Platforms == nil || len(m.Platforms.Platforms) == 0 ||
		slices.Contains(m.Platforms.Platforms, Platform(goos))
}

// Kind describes the values of an option.
func (o Option) Kind() string {
	kind := o.Type
	if o.Multiple {
		kind += ", several"
	}
	if o.Sensitive {
		kind += ", secret"
	}
	if o.Required {
		kind += ", required"
	}
	return kind
}
