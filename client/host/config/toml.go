package config

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/toml"
)

// serverTable matches the header of a server in TOML, which is not JSON.
var serverTable = regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*mcp_servers[ \t]*[.\]]`)

// isTOML reports whether a file is TOML: by the extension of its name or, if it has none, by its
// content.
func isTOML(name string, data []byte) bool {
	if extension := filepath.Ext(name); extension != "" {
		return strings.EqualFold(extension, ".toml")
	}
	return serverTable.Match(data)
}

// readTOML converts the text to JSON. The error is a [Diagnostic].
func (t *text) readTOML() error {
	document, err := toml.Parse(t.raw)
	if e, ok := err.(*toml.Error); ok {
		return t.diagnostic(e.Offset, "%s", e.Reason)
	}
	t.toml, t.data = document, document.JSON
	if e, ok := t.validate().(*jsonscan.Error); ok { // its limit of the depth is lower
		return t.diagnostic(e.Offset, "%s", e.Reason)
	}
	return nil
}
