// Package mcpjson knows what the texts of the configuration files of MCP applications mean: their
// variables, paths and base directories, and whether a file is TOML.
package mcpjson

import (
	"os"
	"regexp"
)

// Pattern matches a variable. Other text with a dollar sign, such as ${x%.c} of a shell, is
// not changed.
var Pattern = regexp.MustCompile(
	`\$\{(?:(env:)?([A-Za-z_][A-Za-z0-9_]*)(?:(:-)([^}]*))?|(input|file|command|config):([^}]*))\}`)

// A Variable is a variable in a text of a definition of a server.
type Variable struct {
	Text string // as it is written, such as ${NAME:-text}
	// Namespace is "" for workspaceFolder and userHome, "env" for environment variables, with or
	// without env: before their names, and "input", "file", "command" or "config" for others.
	Namespace  string
	Name       string
	HasDefault bool
	Default    string
}

// Replace returns a text with the result of replace in place of each variable. Other text
// with a dollar sign stays.
func Replace(text string, replace func(Variable) string) string {
	return Pattern.ReplaceAllStringFunc(text, func(written string) string {
		m := Pattern.FindStringSubmatch(written)
		v := Variable{Text: written, Name: m[2], HasDefault: m[3] != "", Default: m[4]}
		switch {
		case m[5] != "":
			v.Namespace, v.Name = m[5], m[6]
		case m[1] != "" || m[2] != "workspaceFolder" && m[2] != "userHome":
			v.Namespace = "env"
		}
		return replace(v)
	})
}

// CutHome returns the rest of a path after ~/, on Windows also after ~\.
func CutHome(path string) (rest string, ok bool) {
	if len(path) < 2 || path[0] != '~' || !os.IsPathSeparator(path[1]) {
		return path, false
	}
	return path[2:], true
}
