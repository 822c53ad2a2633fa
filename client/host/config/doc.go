// Package config reads the configuration files of MCP applications: it finds the servers that they
// define in any of several formats, which definition has precedence, and whether it is trusted.
//
//	env, err := config.System("")
//	c := config.Load(env)
//	server, err := c.Server("github")
//	…
//	if err := config.UserStore(env).Check(server); err != nil {
//		return err // such as: /repo/.mcp.json:3:5: server "github" is not trusted
//	}
//	endpoint, err := server.Resolve(env)
//	…
//	options.Spawn(ctx, endpoint.Command) // or streamable.Dial(endpoint.URL)
//
// The package starts no server and uses no network. It parses files to servers and diagnostics,
// each with its position in a file. Only the functions of an [Environment] and a [Store] access the
// machine.
//
// # Files
//
// A file is JSON with comments and trailing commas or, if its name ends with .toml, TOML 1.0; a
// byte order mark and an empty file are valid. A duplicate key is an error. The first of these
// members that exists holds the servers:
//
//	mcpServers                       Claude Desktop, Claude Code, Cursor, Windsurf, mcp-proxy and
//	                                 most others; stdwire's own form
//	servers                          VS Code, Dispatch
//	context_servers                  Zed
//	mcp_servers                      Codex
//	mcp.servers                      opencode 2, VS Code's older settings
//	mcp                              opencode, Crush
//	projects.DIRECTORY.mcpServers    Claude Code's settings, for the working directory
//	the whole file                   .agents/mcp.json
//
// [Fields] lists the members that are known, of a server and of the file, with their types, and
// [Schema] is a JSON Schema of them. Others cause a warning and are kept for [Server.JSON].
//
// A file may also define profiles, which are sets of servers:
//
//	{"mcpServers": {…}, "profiles": {"cad": ["freecad", "files"], "web": ["chrome-devtools"]}}
//
// # Precedence
//
// [Load] documents which files are searched and which of them has precedence. The user's own file
// is stdwire/mcp.json in XDG_CONFIG_HOME, by default ~/.config, on Windows %APPDATA%. State is kept
// in XDG_STATE_HOME, by default ~/.local/state, on Windows %LOCALAPPDATA%.
//
// # Variables
//
// See [Server.Resolve]. A variable without a value makes its server unusable, with an error that
// names the member and the variable.
//
// # Trust
//
// The author of a project's files decides which programs its servers run, and need not be the user.
// A server from a file of the working directory may therefore be started only after the user has
// seen its definition and accepted it. A [Store] records the [Server.TrustDigest], which covers the
// whole definition and its directory. A changed definition, or the same definition in another
// directory, must be accepted again. Files that the user names, and the user's own file, need no
// trust.
//
// A profile of a project's file that replaces a profile of the user, or contains servers of other
// files, has no effect until the user accepts it in the same way: see
// [Config].ProfilesRequiringTrust.
//
// An application that keeps servers running while files change can apply the part of a new
// definition that only restricts the old one: see [Server.Restrict].
//
// # Secrets
//
// No diagnostic and no error contains the value of a variable, header, URL or argument.
// [Server.Redacted] returns a copy to show. A [Server] and an [Endpoint] themselves are secret.
package config
