package mcpjson

import "path/filepath"

// BaseDir returns a base directory as the XDG Base Directory Specification defines them: the value
// of the first of the variables that is an absolute path or, without one, homePath in home.
func BaseDir(home string, lookup func(variable string) (value string, ok bool), homePath string,
	variables ...string) string {
	for _, variable := range variables {
		// The specification says that relative paths are ignored.
		if value, ok := lookup(variable); ok && filepath.IsAbs(value) {
			return value
		}
	}
	return filepath.Join(home, homePath)
}
