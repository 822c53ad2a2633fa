// Package registry reads and writes server.json, the description of a server in an MCP registry, in
// the form of its schema of 2025-12-11. It runs and downloads nothing.
package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Schema is the identifier of the schema that files are written for.
const Schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// A Server describes a server. It has only the members that stdwire uses.
type Server struct {
	Schema      string      `json:"$schema"`
	Name        string      `json:"name"` // NAMESPACE/NAME
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description"`
	Version     string      `json:"version"`
	WebsiteURL  string      `json:"websiteUrl,omitempty"`
	Repository  *Repository `json:"repository,omitempty"`
	Packages    []Package   `json:"packages,omitempty"`
	Remotes     []Remote    `json:"remotes,omitempty"`
}

// A Repository is where the source of a server is.
type Repository struct {
	URL    string `json:"url"`
	Source string `json:"source"`
}

// A Package is a package that contains the server.
type Package struct {
	Type      string     `json:"registryType"` // npm, pypi, oci, nuget, mcpb, …
	ID        string     `json:"identifier"`
	Version   string     `json:"version,omitempty"`
	SHA256    string     `json:"fileSha256,omitempty"`
	Runtime   string     `json:"runtimeHint,omitempty"`
	Transport Transport  `json:"transport"`
	RunArgs   []Argument `json:"runtimeArguments,omitempty"`
	Args      []Argument `json:"packageArguments,omitempty"`
	Env       []Argument `json:"environmentVariables,omitempty"`
}

// A Transport says how clients connect to the server of a package.
type Transport struct {
	Type string `json:"type"` // stdio, streamable-http or sse
	URL  string `json:"url,omitempty"`
}

// A Remote is a server at a URL.
type Remote struct {
	Type      string           `json:"type"` // streamable-http or sse
	URL       string           `json:"url"`
	Headers   []Argument       `json:"headers,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"`
}

// An Input is a value that is fixed or that the user gives.
type Input struct {
	Description string   `json:"description,omitempty"`
	Required    bool     `json:"isRequired,omitempty"`
	Secret      bool     `json:"isSecret,omitempty"`
	Format      string   `json:"format,omitempty"`
	Value       string   `json:"value,omitempty"`
	Default     string   `json:"default,omitempty"`
	Placeholder string   `json:"placeholder,omitempty"`
	Choices     []string `json:"choices,omitempty"`
}

// An Argument is an argument of a command, an environment variable or a header.
type Argument struct {
	Input
	Type      string           `json:"type,omitempty"` // named or positional, of an argument
	Name      string           `json:"name,omitempty"`
	Hint      string           `json:"valueHint,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"`
}

// ErrOther is the error of Parse for a text that is not a server.json.
var ErrOther = errors.New("this is not a server.json")

var (
	namePattern    = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)
	digestPattern  = regexp.MustCompile(`^[a-f0-9]{64}$`)
	versionPattern = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]*$`)
)

// Parse parses a server.json, or the answer of a registry that contains one. An older form is an
// error. The error is ErrOther if data is something else.
func Parse(data []byte) (*Server, error) {
	data = jsonscan.TrimBOM(data)
	var root map[string]json.RawMessage
	if json.Unmarshal(data, &root) != nil {
		return nil, ErrOther
	}
	if inner, ok := root["server"]; ok && root["name"] == nil {
		data, root = inner, nil
		if json.Unmarshal(data, &root) != nil {
			return nil, ErrOther
		}
	}
	if root["name"] == nil || root["packages"] == nil && root["remotes"] == nil {
		return nil, ErrOther
	}
	s := new(Server)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("server.json: %w", err)
	}
	return s, s.Check()
}

// Check returns an error if the description is not one that a registry accepts, as far as that is
// needed to use it.
func (s *Server) Check() error {
	switch {
	case !namePattern.MatchString(s.Name) || len(s.Name) < 3 || len(s.Name) > 200:
		return fmt.Errorf("server.json: the name %.100q is not NAMESPACE/NAME, such as io.github.ada/weather",
			s.Name)
	case s.Description == "" || len([]rune(s.Description)) > 100:
		return errors.New("server.json: the description must have 1 to 100 characters")
	case s.Version == "" || strings.ContainsAny(s.Version, "^~<>* "):
		return fmt.Errorf("server.json: the version %.50q is not one version", s.Version)
	}
	for i, p := range s.Packages {
		if err := p.check(); err != nil {
			return fmt.Errorf("server.json: packages[%d]: %w", i, err)
		}
	}
	for i, r := range s.Remotes {
		if r.URL == "" || r.Type != "streamable-http" && r.Type != "sse" {
			return fmt.Errorf("server.json: remotes[%d]: the type must be streamable-http or sse, and there must be a url",
				i)
		}
	}
	return nil
}

func (p Package) check() error {
	switch {
	case p.Type == "":
		return fmt.Errorf("there is no registryType; a file for an older schema must be rewritten for %s",
			Schema)
	case p.ID == "" || strings.HasPrefix(p.ID, "-") || strings.ContainsAny(p.ID, " \t\n\x00"):
		return fmt.Errorf("the identifier %.100q is not that of a package", p.ID)
	case p.Version != "" && (p.Version == "latest" || !versionPattern.MatchString(p.Version)):
		return fmt.Errorf("the version %.50q is not one version", p.Version)
	case p.SHA256 != "" && !digestPattern.MatchString(p.SHA256):
		return errors.New("fileSha256 is not a SHA-256 in 64 lower-case hexadecimal digits")
	case p.Type == "mcpb" && p.SHA256 == "":
		return errors.New("a package of type mcpb must have fileSha256")
	case !slices.Contains([]string{"stdio", "streamable-http", "sse"}, p.Transport.Type):
		return fmt.Errorf("the transport %.50q is not stdio, streamable-http or sse",
			p.Transport.Type)
	}
	for _, a := range slices.Concat(p.RunArgs, p.Args) {
		if a.Type != "named" && a.Type != "positional" || a.Type == "named" && a.Name == "" {
			return errors.New("an argument must be of type positional, or of type named with a name")
		}
	}
	for _, e := range p.Env {
		if e.Name == "" || strings.ContainsAny(e.Name, "=\x00") {
			return fmt.Errorf("%.60q cannot be the name of a variable", e.Name)
		}
	}
	return nil
}
