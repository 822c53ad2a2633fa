package config

import "path/filepath"

// Variable is the environment variable with the path of a file that is used in place of those that are searched for.
const Variable = "STDWIRE_CONFIG"

// projectFiles are looked for in a directory, in this order. The first that has a place for servers counts.
var projectFiles = []Source{
	{Path: "mcp.json"}, {Path: ".mcp.json"}, {Path: ".dispatch/mcp.json"}, {Path: ".vscode/mcp.json"},
	{Path: "opencode.json", general: true}, {Path: "opencode.jsonc", general: true},
}

// A place is where files are looked for: the servers of all places are used, but of each place those of one file only.
type place []Source

// search returns where files are looked for, what wins first.
func search(env *Environment, files []string) (places []place) {
	absolute := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(env.Dir, path)
	}
	for _, file := range files {
		places = append([]place{{{Path: absolute(file), Workspace: env.Dir, required: true}}}, places...)
	}
	if places != nil {
		return places
	}
	if file, ok := env.LookupEnv(Variable); ok && file != "" {
		return []place{{{Path: file, Workspace: env.Dir, required: true, settled: true}}}
	}
	var project place
	for _, file := range projectFiles {
		file.Path = filepath.Join(env.Dir, filepath.FromSlash(file.Path))
		file.Workspace, file.Project = env.Dir, true
		project = append(project, file)
	}
	return []place{project, {{Path: UserFile(env), Workspace: env.Dir, settled: true}}}
}

// UserFile is the path of the user's own file: stdwire/mcp.json in XDG_CONFIG_HOME, which is ~/.config unless it is set.
func UserFile(env *Environment) string { return inHome(env, "XDG_CONFIG_HOME", ".config", "mcp.json") }

// inHome is the path of a file of stdwire's in one of the directories of the XDG Base Directory Specification.
func inHome(env *Environment, variable, otherwise, name string) string {
	dir, ok := env.LookupEnv(variable)
	if !ok || !filepath.IsAbs(dir) { // the specification wants relative ones to be ignored
		dir = filepath.Join(env.Home, otherwise)
	}
	return filepath.Join(dir, "stdwire", name)
}
