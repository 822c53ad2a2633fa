package mcpjson

import (
	"path/filepath"
	"regexp"
	"strings"
)

// serverTable matches the header of a server in TOML, which is not JSON.
var serverTable = regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*mcp_servers[ \t]*[.\]]`)

// IsTOML reports whether a file is TOML: by the extension of its name or, if it has none, by its
// content.
func IsTOML(name string, data []byte) bool {
	if extension := filepath.Ext(name); extension != "" {
		return strings.EqualFold(extension, ".toml")
	}
	return serverTable.Match(data)
}
