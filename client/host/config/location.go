package config

import (
	"os"
	"path/filepath"
	"slices"
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

// System returns the environment of this process, with dir as its working directory unless dir is
// "". Its Ask is nil.
func System(dir string) (*Environment, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // one directory has one name: trust depends on it
	}
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	exists := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && !info.IsDir()
	}
	env := &Environment{Dir: dir, Home: home, LookupEnv: os.LookupEnv, ReadFile: readFile,
		Exists: exists}
	store := UserStore(env)
	env.Trusts = func(p *Profile) bool { return store.Check(p) == nil }
	return env, nil
}
