package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/lazyregexp"
)

// The locations and media types of server cards (SEP-2127).
const (
	// ServerCardPath is appended to the URL of an endpoint.
	ServerCardPath = "/server-card"
	ServerCardType = "application/mcp-server-card+json"
	// CatalogPath is the path of the list of the cards of a host.
	CatalogPath = "/.well-known/ai-catalog.json"
	CatalogType = "application/ai-catalog+json"

	// ServerCardSchema is the $schema of server cards.
	ServerCardSchema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
)

// A ServerCard describes a server to clients that have not connected to it (SEP-2127). Anybody can
// read it. It does not list tools, and clients must not rely on it in decisions about security.
type ServerCard struct {
	Schema      string       `json:"$schema"` // ServerCardSchema
	Name        string       `json:"name"`    // NAMESPACE/NAME, such as com.example/weather
	Version     string       `json:"version"`
	Description string       `json:"description"` // 1 to 100 characters
	Title       string       `json:"title,omitempty"`
	WebsiteURL  string       `json:"websiteUrl,omitempty"`
	Remotes     []CardRemote `json:"remotes,omitempty"`
}

// A CardRemote is an endpoint of the server.
type CardRemote struct {
	Type     string     `json:"type"` // streamable-http or sse
	URL      string     `json:"url"`  // may have variables in braces
	Versions []Revision `json:"supportedProtocolVersions,omitempty"`
}

// A Catalog lists the server cards of a host.
type Catalog struct {
	SpecVersion string         `json:"specVersion"`
	Entries     []CatalogEntry `json:"entries"`
}

// A CatalogEntry is an entry of a [Catalog]. An entry of another Type does not describe a server.
type CatalogEntry struct {
	Identifier string      `json:"identifier"`
	Type       string      `json:"type"`
	URL        string      `json:"url,omitempty"`
	Data       *ServerCard `json:"data,omitempty"` // in place of URL
}

var (
	cardName   = lazyregexp.New(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)
	cardRemote = lazyregexp.New(`^(https?://[^\s]+|\{[a-zA-Z_][a-zA-Z0-9_]*\}[^\s]*)$`)
)

// Check returns an error unless the card is valid.
func (c *ServerCard) Check() error {
	n := utf8.RuneCountInString(c.Description)
	switch {
	case c.Schema != ServerCardSchema:
		return fmt.Errorf("server card: $schema must be %s, not %.100q", ServerCardSchema, c.Schema)
	case !cardName().MatchString(c.Name) || len(c.Name) < 3 || len(c.Name) > 200:
		return fmt.Errorf("server card: the name %.100q is not NAMESPACE/NAME, such as com.example/weather",
			c.Name)
	case c.Version == "" || len(c.Version) > 255 || strings.ContainsAny(c.Version, "^~<>*"):
		return fmt.Errorf("server card: the version %.50q is not one version", c.Version)
	case n == 0 || n > 100:
		return fmt.Errorf("server card: the description has %d characters, and must have 1 to 100", n)
	case utf8.RuneCountInString(c.Title) > 100:
		return errors.New("server card: the title has more than 100 characters")
	}
	if u, err := url.Parse(c.WebsiteURL); err != nil || c.WebsiteURL != "" && u.Scheme == "" {
		return errors.New("server card: websiteUrl is not a URL")
	}
	for i, r := range c.Remotes {
		if r.Type != "streamable-http" && r.Type != "sse" {
			return fmt.Errorf("server card: remotes[%d]: the type %.50q is not streamable-http or sse", i,
				r.Type)
		}
		if !cardRemote().MatchString(r.URL) {
			return fmt.Errorf("server card: remotes[%d]: %.100q is not an http: or https: URL", i, r.URL)
		}
	}
	return nil
}
