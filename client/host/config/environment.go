package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/mcpjson"
	"github.com/stdwire/stdwire/internal/userfile"
)

// An Environment gives access to those parts of the machine that determine the meaning of a
// configuration. [System] returns the environment of this process.
type Environment struct {
	// Dir is the directory with the project files, in which servers start. It is absolute and must
	// not contain symbolic links, because trust depends on its name.
	Dir string
	// Home is the home directory, ${userHome} and ~/. It is absolute.
	Home string

	// LookupEnv returns the value of an environment variable, as [os.LookupEnv] does.
	LookupEnv func(name string) (value string, ok bool)
	// ReadFile returns the content of a file. The error matches [fs.ErrNotExist] if there is none.
	ReadFile func(path string) ([]byte, error)
	// Exists reports whether a file other than a directory exists.
	Exists func(path string) bool

	// Trusts reports whether the user trusts a profile of a project's file: see
	// [Config].ProfilesRequiringTrust. If it is nil, no profile is trusted.
	Trusts func(*Profile) bool

	// Inputs are the values of ${input:ID} by id. The value of another input is the environment
	// variable STDWIRE_INPUT_ID or, if that is not set, the result of Ask.
	Inputs map[string]string
	// Ask asks the user for the value of an input. If it is nil, the input has no value.
	Ask func(Input) (string, error)
}

// MaxFile limits the size of a file in bytes: 4 MiB.
const MaxFile = jsonedit.MaxText

// readFile reads a regular file of at most [MaxFile] bytes.
func readFile(path string) ([]byte, error) {
	data, err := userfile.Read(path, MaxFile)
	if errors.Is(err, syscall.ENOTDIR) { // a parent is a file, so the file cannot exist
		err = &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return data, err
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

// isCommandFile reports whether a command is a file. A relative path starts at base.
func (env *Environment) isCommandFile(command, base string) bool {
	if rest, ok := mcpjson.CutHome(command); ok {
		command = filepath.Join(env.Home, rest)
	}
	if !filepath.IsAbs(command) {
		command = filepath.Join(base, command)
	}
	return env.Exists(command)
}
