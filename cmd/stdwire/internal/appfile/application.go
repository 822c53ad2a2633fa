// Package appfile changes configuration files of servers: it adds servers to the files of other
// applications and removes them, and adds, replaces, removes and swaps servers of files that
// [config.Parse] reads. What is not changed keeps its comments, order and layout. Nothing is read
// or written: see package configfile.
package appfile

import (
	"path/filepath"
	"slices"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/mcpjson"
)

// An Application is a program that starts servers and has its own configuration file.
type Application struct {
	Name  string // such as claude-code
	Title string // such as Claude Code

	// dir returns the directory of the user's file; nil: the home directory.
	dir func(*config.Environment) string

	user      []string // names of the user's file in dir; the first that exists is used
	workspace []string // names of the file in a workspace; nil for none
	keys      []string // the path of keys to the servers
	form      form
}

// A form describes how an application writes the definition of a server.
type form struct {
	stdio, http  string // the values of type; "": there is no type
	commandArray bool   // command includes the arguments
	env          string // the member with variables, by default env
	envNames     string // the member with the names of variables to pass on; "": none
	cwd, envFile bool   // there are such members
	url          string // the member with the URL; "": only commands can be started
	headers      string // the member with headers, by default headers
	// variable is how a variable is written, with NAME for its name. "": variables are not
	// expanded.
	variable string
	defaults bool // ${NAME:-text} is understood
	codex    bool // headers with variables have members of their own
	// plainNames: names of servers have letters, digits, '-' and '_' only.
	plainNames bool
	verbatim   bool // variables are those of stdwire
}

// Applications returns the applications whose files [Application.Install] can change.
func Applications() []Application {
	return []Application{
		{Name: "claude-code", Title: "Claude Code",
			dir: baseDir("", "CLAUDE_CONFIG_DIR"), user: []string{".claude.json"},
			workspace: []string{".mcp.json"}, keys: []string{"mcpServers"},
			form: form{stdio: "stdio", http: "http", url: "url", variable: "${NAME}",
				defaults: true, plainNames: true}},
		{Name: "claude-desktop", Title: "Claude Desktop",
			dir: applicationData, user: []string{"Claude/claude_desktop_config.json"},
			keys: []string{"mcpServers"}},
		{Name: "cursor", Title: "Cursor", user: []string{".cursor/mcp.json"},
			workspace: []string{".cursor/mcp.json"}, keys: []string{"mcpServers"},
			form: form{url: "url", envFile: true, variable: "${env:NAME}"}},
		{Name: "vscode", Title: "VS Code", dir: applicationData, user: []string{"Code/User/mcp.json"},
			workspace: []string{".vscode/mcp.json"}, keys: []string{"servers"},
			form: form{stdio: "stdio", http: "http", url: "url", cwd: true, envFile: true,
				variable: "${env:NAME}"}},
		{Name: "gemini", Title: "Gemini CLI", user: []string{".gemini/settings.json"},
			workspace: []string{".gemini/settings.json"}, keys: []string{"mcpServers"},
			form: form{url: "httpUrl", cwd: true, variable: "${NAME}"}},
		{Name: "zed", Title: "Zed", dir: configHome, user: []string{"zed/settings.json"},
			workspace: []string{".zed/settings.json"}, keys: []string{"context_servers"},
			form: form{url: "url"}},
		{Name: "windsurf", Title: "Windsurf", user: []string{".codeium/windsurf/mcp_config.json"},
			keys: []string{"mcpServers"}, form: form{url: "serverUrl", variable: "${env:NAME}"}},
		{Name: "opencode", Title: "opencode",
			dir:       baseDir(".config", "XDG_CONFIG_HOME"),
			user:      []string{"opencode/opencode.json", "opencode/opencode.jsonc"},
			workspace: []string{"opencode.json", "opencode.jsonc"}, keys: []string{"mcp"},
			form: form{stdio: "local", http: "remote", commandArray: true, env: "environment",
				cwd: true, url: "url", variable: "{env:NAME}"}},
		{Name: "codex", Title: "Codex", dir: baseDir(".codex", "CODEX_HOME"),
			user: []string{"config.toml"}, workspace: []string{".codex/config.toml"},
			keys: []string{"mcp_servers"},
			form: form{envNames: "env_vars", cwd: true, url: "url", headers: "http_headers",
				codex: true, plainNames: true}},
	}
}

// UserFile returns the path of the user's file, which need not exist.
func (a Application) UserFile(env *config.Environment) string {
	dir := env.Home
	if a.dir != nil {
		dir = a.dir(env)
	}
	return firstThatExists(env, dir, a.user)
}

// baseDir returns a function that calls [mcpjson.BaseDir].
func baseDir(homePath string, variables ...string) func(*config.Environment) string {
	return func(env *config.Environment) string {
		return mcpjson.BaseDir(env.Home, env.LookupEnv, homePath, variables...)
	}
}

// configHome returns the directory of the configuration of all programs.
func configHome(env *config.Environment) string {
	return filepath.Dir(filepath.Dir(config.UserFile(env)))
}

// WorkspaceFile returns the path of the file in env.Dir, which need not exist, or "" if the
// application reads no file of a workspace.
func (a Application) WorkspaceFile(env *config.Environment) string {
	if a.workspace == nil {
		return ""
	}
	return firstThatExists(env, env.Dir, a.workspace)
}

// firstThatExists returns the path of the first file that exists, or else of the first.
func firstThatExists(env *config.Environment, dir string, names []string) string {
	path := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	i := slices.IndexFunc(names, func(name string) bool { return env.Exists(path(name)) })
	return path(names[max(i, 0)])
}
