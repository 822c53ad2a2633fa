package config

import "path/filepath"

// pathVariable is the environment variable with the path of a file that is used in place of those
// that are searched for.
const pathVariable = "STDWIRE_CONFIG"

// projectFiles are looked for in a directory, in this order. The first that has a place for servers
// counts.
var projectFiles = []Source{
	{Path: "mcp.json"}, {Path: ".mcp.json"}, {Path: ".dispatch/mcp.json"},
	{Path: ".vscode/mcp.json"},
	{Path: "opencode.json", sharedFile: true}, {Path: "opencode.jsonc", sharedFile: true},
}

// A place is where files are looked for: the servers of all places are used, but of each place
// those of one file only.
type location []Source

// search returns where files are looked for, what wins first.
func search(env *Environment, files []string) (places []location) {
	absolute := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(env.Dir, path)
	}
	for _, file := range files {
		places = append([]location{{{Path: absolute(file), Workspace: env.Dir, required: true}}},
			places...)
	}
	if places != nil {
		return places
	}
	if file, ok := env.LookupEnv(pathVariable); ok && file != "" {
		return []location{{{Path: file, Workspace: env.Dir, required: true, relativeToFile: true}}}
	}
	var project location
	for _, file := range projectFiles {
		file.Path = filepath.Join(env.Dir, filepath.FromSlash(file.Path))
		file.Workspace, file.Project = env.Dir, true
		project = append(project, file)
	}
	return []location{project, {{Path: UserFile(env), Workspace: env.Dir, relativeToFile: true}}}
}

// UserFile is the path of the user's own file: stdwire/mcp.json in XDG_CONFIG_HOME, which is
// ~/.config unless it is set, on Windows %APPDATA%.
func UserFile(env *Environment) string { return configHome.file(env, "mcp.json") }

// StateFile is the path of a file that is kept from one run to the next: stdwire/name in
// XDG_STATE_HOME, which is ~/.local/state unless it is set, on Windows %LOCALAPPDATA%. Of env, it
// needs Home and LookupEnv only.
func StateFile(env *Environment, name string) string { return stateHome.file(env, name) }

// A base is a directory for files of one kind of all programs, as the XDG Base Directory
// Specification has it on every system.
type baseDir struct {
	variables []string // that may have its path, what counts first
	homePath  string   // where it is in the home directory
}

// file is the path of one of stdwire's.
func (b baseDir) file(env *Environment, name string) string {
	dir := filepath.Join(env.Home, b.homePath)
	for _, variable := range b.variables {
		// The specification wants relative paths to be ignored.
		if value, ok := env.LookupEnv(variable); ok && filepath.IsAbs(value) {
			dir = value
			break
		}
	}
	return filepath.Join(dir, "stdwire", name)
}
