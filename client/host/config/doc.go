// Package config finds out which servers of MCP are configured, and what they are.
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
// It starts nothing and knows no network: bytes and an [Environment] go in; servers and
// diagnostics, each with its place in a file, come out. Only [System] and [Store] touch the
// machine.
//
// # Files
//
// A file is JSON; comments, commas behind last elements, a byte order mark and an empty file are
// all right. A key that is there twice is an error. Where the servers are is found out, in this
// order:
//
//	mcpServers                          Claude Desktop, Claude Code, Cursor, Windsurf, mcp-proxy and most others; and stdwire's own form
//	servers                             VS Code, Dispatch
//	context_servers                     Zed
//	mcp.servers                         opencode 2, VS Code's older settings
//	mcp                                 opencode, Crush
//	projects.DIRECTORY.mcpServers       Claude Code's settings, of the working directory
//	the whole file                      .agents/mcp.json
//
// Of each server, these fields are known. Others are told in a warning, and kept for [Server.JSON].
//
//	command               the program, or an array of it and its arguments; a command line that is no file is taken apart, with a warning
//	args, env, cwd        env is environment as well
//	envFile               a file of NAME=value lines; what is in env wins
//	inheritEnv            true, or ["AWS_*"]: what is inherited beyond what every program needs; credentials in HTTPS_PROXY, UV_* and npm_config_* only if so named
//	url, headers          url is serverUrl and httpUrl as well
//	oauth                 false, or {clientId, clientSecret, issuer, scope, redirectUri, allowPrivate, grantType}: see [OAuth]; is auth as well if that is an
//	                      object; the names that applications have for its members are understood, callbackPort and enabled too
//	type                  stdio, local; http, streamable-http, remote, sse; is transport and transportType as well. It need not be there
//	disabled, enabled
//	tools                 {allow: ["read_*"], deny: […]}: see [host.Filter]; includeTools, excludeTools and disabledTools are the one or the other
//	era                   auto, modern, legacy
//	startTimeoutMs        for the start and the handshake
//	callTimeoutMs         of a call
//	timeout               what the application means by it: milliseconds of a call; in Zed seconds; in opencode milliseconds of the start; in mcp-proxy nanoseconds
//	idleStop              "10m": without calls, until the server is stopped
//	perSession            true: the server must not be shared; it cannot be used without a session, as by modern clients over HTTP
//	maxArguments          bytes of the arguments of a call through stdwire serve, 8 MiB if it is not said
//	maxResult             bytes of a result, 8 MiB, 1 GiB at most; over stdio no client gets more than 10 MiB
//
// Beside mcpServers and servers, stdwire knows profiles, sets of servers for a task:
//
//	{"mcpServers": {…}, "profiles": {"cad": ["freecad", "files"], "web": ["chrome-devtools"]}}
//
// # Precedence
//
// See [Load] for which files are looked for, and which of them wins. The user's own file is
// stdwire/mcp.json in XDG_CONFIG_HOME; unless that is set, in ~/.config, on Windows in %APPDATA%.
// What is kept from one run to the next is in XDG_STATE_HOME; unless that is set, in
// ~/.local/state, on Windows in %LOCALAPPDATA%.
//
// # Variables
//
// See [Server.Resolve]. A variable without a value makes that one server unusable, by an error that
// names the field and the variable.
//
// # Trust
//
// Whoever writes a project's files decides what its servers run. So a server from a file that was
// found in the working directory may be started only after the user has seen it and agreed. A
// [Store] remembers that by the [Server.TrustDigest], of all that the file says of it and its
// directory: another definition, or the same in another directory, has to be trusted again. Files
// that the user named, and the user's own, need no trust.
//
// A profile of such a file that takes the place of one of the user's, or has servers of other
// files, has no effect before the user has agreed to it in the same way: see [Config].Claims.
//
// Whoever keeps servers running while files change starts nothing by their word: [Server.Within]
// says what of a new definition only takes away.
//
// # Secrets
//
// No diagnostic and no error has the value of a variable, header, URL or argument in it.
// [Server.Redacted] is for showing. A [Server] and an [Endpoint] themselves are secret.
package config
