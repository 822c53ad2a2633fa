package config

import (
	"path/filepath"
	"slices"

	"github.com/stdwire/stdwire/internal/mcpjson"
)

// pathVariable is the environment variable that names a file to use instead of searching.
const pathVariable = "STDWIRE_CONFIG"

// projectFiles are searched for in a directory, in this order. The first that has servers is used.
var projectFiles = []Source{
	{Path: "mcp.json"}, {Path: ".mcp.json"}, {Path: ".dispatch/mcp.json"},
	{Path: ".vscode/mcp.json"},
	{Path: "opencode.json", sharedFile: true}, {Path: "opencode.jsonc", sharedFile: true},
}

// A location is a list of files of which one is used. The servers of all locations are used.
type location []Source

// search returns the locations by precedence.
func search(env *Environment, files []string) (locations []location) {
	absolute := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(env.Dir, path)
	}
	for _, file := range slices.Backward(files) {
		locations = append(locations, location{{Path: absolute(file), Workspace: env.Dir,
			Rename: true, required: true}})
	}
	if locations != nil {
		return locations
	}
	if file, ok := env.LookupEnv(pathVariable); ok && file != "" {
		return []location{{{Path: file, Workspace: env.Dir, Rename: true, required: true,
			relativeToFile: true}}}
	}
	var project location
	for _, file := range projectFiles {
		file.Path = filepath.Join(env.Dir, filepath.FromSlash(file.Path))
		file.Workspace, file.Project, file.Rename = env.Dir, true, true
		project = append(project, file)
	}
	return []location{project, {{Path: UserFile(env), Workspace: env.Dir, Rename: true,
		relativeToFile: true}}}
}

// UserFile returns the path of the user's own file: stdwire/mcp.json in XDG_CONFIG_HOME, by default
// ~/.config, on Windows %APPDATA%.
func UserFile(env *Environment) string { return configHome.file(env, "mcp.json") }

// StateFile returns the path of a state file: stdwire/name in XDG_STATE_HOME, by default
// ~/.local/state, on Windows %LOCALAPPDATA%. It uses only Home and LookupEnv of env.
func StateFile(env *Environment, name string) string { return stateHome.file(env, name) }

// A baseDir is a base directory of the XDG Base Directory Specification, which is applied on every
// system.
type baseDir struct {
	variables []string // in order of precedence
	homePath  string   // relative to the home directory
}

// file returns the path of a file of stdwire.
func (b baseDir) file(env *Environment, name string) string {
	dir := mcpjson.BaseDir(env.Home, env.LookupEnv, b.homePath, b.variables...)
	return filepath.Join(dir, "stdwire", name)
}
