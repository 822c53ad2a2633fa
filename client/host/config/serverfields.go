package config

import (
	"slices"
	"time"

	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// serverFields returns the members of a server.
func serverFields() []field[*Server] { return slices.Concat(endpointFields(), settingFields()) }

// endpointFields returns the members that say what a server is and how it is reached.
func endpointFields() []field[*Server] {
	return []field[*Server]{
		{names: []string{"command"}, valueType: commandType,
			help:   "The program of a server on stdio, or an array of it and its first arguments. A command line that is not the name of a file is split, with a warning.",
			secret: secretWords, at: func(s *Server) any { return &s.Command },
			read: (*reader).readCommand},
		{names: []string{"args"}, valueType: textsType, help: "The arguments of the program.",
			secret: secretWords, at: func(s *Server) any { return &s.Args },
			read: func(r *reader, s *Server, v jsonedit.Value) {
				s.Args = append(s.Args, r.readStrings(v)...)
			}},
		{names: []string{"cwd"}, valueType: textType, secret: notSecret,
			help: "The working directory of the program; without it, that of stdwire.",
			at:   func(s *Server) any { return &s.Dir }},
		{names: []string{"env", "environment"}, valueType: envType,
			help: "Environment variables for the program; they have precedence over envFile.",
			at:   func(s *Server) any { return &s.Env },
			read: func(r *reader, s *Server, v jsonedit.Value) { s.Env = r.readEnv(v) }},
		{names: []string{"envFile"}, valueType: textType, secret: notSecret,
			help: "A file with more variables, as lines of NAME=value.",
			at:   func(s *Server) any { return &s.EnvFile }},
		{names: []string{"inheritEnv"}, valueType: inheritEnvType, secret: notSecret,
			help: "Variables to pass on from the environment of stdwire, beyond the few that every program needs: true for all, or names such as \"AWS_*\". Credentials in HTTPS_PROXY, UV_* and npm_config_* are passed on only if named.",
			at:   func(s *Server) any { return &s.InheritEnv }, read: (*reader).readInheritEnv},
		{names: []string{"env_vars"}, valueType: variableNamesType, secret: notSecret,
			help: "Codex's name for inheritEnv: variables to pass on.",
			read: (*reader).readVariableNames},
		{names: urlNames, valueType: urlType, help: "The http: or https: URL of a server.",
			secret: secretURL, at: func(s *Server) any { return &s.URL }},
		{names: []string{"headers", "http_headers"}, valueType: headersType,
			help: "HTTP headers for each request to the URL.",
			at:   func(s *Server) any { return &s.Headers },
			read: (*reader).readHeaders},
		{names: []string{"env_http_headers"}, valueType: headersType, secret: notSecret,
			help: "HTTP headers whose values are those of environment variables.",
			read: (*reader).readHeaderVariables},
		{names: []string{"bearer_token_env_var"}, valueType: textType, secret: notSecret,
			help: "The environment variable with the bearer token for each request to the URL.",
			read: (*reader).readBearerVariable},
		{names: []string{"oauth", "auth"}, valueType: oauthType, secret: secretOAuth,
			help: "Authorization at the URL: false for none, or an object. See stdwire help auth.",
			at:   func(s *Server) any { return &s.OAuth },
			read: func(r *reader, s *Server, v jsonedit.Value) { s.OAuth = r.readOAuth(v) },
			json: func(s *Server) any { return s.OAuth.encode() }},
		{names: []string{"credentials"}, valueType: credentialsType, secret: secretCredentials,
			help: "What a gateway calls the server with for each of its users. See stdwire help credentials.",
			at:   func(s *Server) any { return &s.Credentials }, before: "tlsCA",
			read: func(r *reader, s *Server, v jsonedit.Value) {
				s.Credentials = r.readCredentials(v)
			},
			json: func(s *Server) any { return s.Credentials.encode() }},
		{names: []string{"tlsCA"}, valueType: textType, secret: notSecret,
			help: "A PEM file of the authorities that sign the server's certificate, in place of the system's.",
			at:   func(s *Server) any { return &s.TLS.CA }},
		{names: []string{"tlsClientCert"}, valueType: textType, secret: notSecret,
			help: "A PEM file with the client's certificate.",
			at:   func(s *Server) any { return &s.TLS.ClientCert }},
		{names: []string{"tlsClientKey"}, valueType: textType, secret: notSecret,
			help: "A PEM file with the key of that certificate.",
			at:   func(s *Server) any { return &s.TLS.ClientKey }},
		{names: transportMembers, valueType: transportType, secret: notSecret,
			help: "The transport. It may be left out: command means stdio, url means HTTP.",
			read: (*reader).readTransport, before: "url",
			json: func(s *Server) any { return valueIf("http", s.URL != "") }},
	}
}

// settingFields returns the members that say how a server is managed: see [Server.Settings].
func settingFields() []field[*Server] {
	return []field[*Server]{
		{names: []string{"era", "protocolEra"}, valueType: eraType, secret: notSecret,
			help: "The protocol: modern from revision 2026-07-28, legacy before. auto finds out, the default.",
			read: (*reader).readEra, json: func(s *Server) any {
				name := map[mcp.Era]string{mcp.Modern: "modern", mcp.Legacy: "legacy"}[s.Era]
				return valueIf(name, name != "")
			}},
		{names: []string{"disabled"}, valueType: boolType, secret: notSecret,
			help: "The server is not started.",
			at:   func(s *Server) any { return &s.Disabled }, outsideDigest: true, before: "tools"},
		{names: []string{"enabled"}, valueType: boolType, secret: notSecret,
			help: "false is the same as \"disabled\": true.",
			read: func(r *reader, s *Server, v jsonedit.Value) {
				s.Disabled = s.Disabled || !r.readBool(v)
			}},
		{names: []string{"perSession"}, valueType: boolType, secret: notSecret,
			help: "Each client of a gateway gets a process of its own. Requests without a session, such as those of modern clients over HTTP, cannot use the server.",
			at:   func(s *Server) any { return &s.PerSession }, before: "maxArguments"},
		{names: []string{"required"}, valueType: boolType, secret: notSecret,
			help: "A gateway says at /readyz that it is not ready while this server starts or fails.",
			at:   func(s *Server) any { return &s.Required }, before: "maxArguments"},
		{names: []string{"startTimeoutMs"}, valueType: millisecondsType, secret: notSecret,
			help: "The time for the start and the handshake.",
			at:   func(s *Server) any { return &s.StartTimeout }},
		{names: []string{"callTimeoutMs"}, valueType: millisecondsType, secret: notSecret,
			help: "The time for a call.", at: func(s *Server) any { return &s.CallTimeout }},
		{names: []string{"startup_timeout_ms"}, valueType: millisecondsType, secret: notSecret,
			help: "Codex's name for startTimeoutMs.",
			read: func(r *reader, s *Server, v jsonedit.Value) {
				s.StartTimeout = r.readDuration(v, time.Millisecond)
			}},
		{names: []string{"startup_timeout_sec"}, valueType: secondsType, secret: notSecret,
			help: "The same in seconds.",
			read: func(r *reader, s *Server, v jsonedit.Value) {
				s.StartTimeout = r.readSeconds(v)
			}},
		{names: []string{"tool_timeout_sec"}, valueType: secondsType, secret: notSecret,
			help: "Codex's name for callTimeoutMs, in seconds.",
			read: func(r *reader, s *Server, v jsonedit.Value) {
				s.CallTimeout = r.readSeconds(v)
			}},
		{names: []string{"idleStop"}, valueType: durationType, secret: notSecret,
			help: "A gateway stops the server after this time without calls, and starts it for the next one.",
			read: (*reader).readIdleStop, json: func(s *Server) any {
				return valueIf(shortDuration(max(s.IdleStop, 0)), s.IdleStop != 0)
			}},
		{names: []string{"maxArguments"}, valueType: bytesType, secret: notSecret,
			help: "The size of the arguments of a call through a gateway; default 8 MiB.",
			at:   func(s *Server) any { return &s.MaxArguments }},
		{names: []string{"maxResult"}, valueType: bytesType, secret: notSecret,
			help: "The size of the result of a call through a gateway; default 8 MiB, over stdio at most 10 MiB.",
			at:   func(s *Server) any { return &s.MaxResult }},
		{names: []string{"maxResultText"}, valueType: textLimitsType, secret: notSecret,
			help: "The characters of a result's text that a client gets through a gateway, for all tools or by tool; * stands for the others. The rest can be read with the tool read_result. 0: no limit, the default.",
			read: (*reader).readTextLimits, json: encodeTextLimits},
		{names: []string{"cacheResults"}, valueType: durationType, secret: notSecret,
			help: "A gateway answers a call of a tool that only reads (readOnlyHint) with the result of an earlier one with the same arguments for this time, until a tool is called that may write.",
			read: (*reader).readCacheResults, json: func(s *Server) any {
				return valueIf(shortDuration(s.CacheResults), s.CacheResults != 0)
			}},
		{names: []string{"cacheScope"}, valueType: cacheScopeType, secret: notSecret,
			help: "Whether such a result is only for the caller of the earlier call, private, the default, or for all, public.",
			read: (*reader).readCacheScope, json: func(s *Server) any {
				return valueIf(string(mcp.CachePublic), s.CachePublic)
			}},
		{names: []string{"timeout"}, valueType: timeoutType, secret: notSecret,
			help: "What the application that wrote the file means: milliseconds of a call; in Zed seconds; in opencode and Crush milliseconds of the start; in mcp-proxy nanoseconds. startTimeoutMs and callTimeoutMs have precedence.",
			read: func(r *reader, _ *Server, v jsonedit.Value) { r.timeout = &v }},
		{names: []string{"tools"}, valueType: toolsType, secret: notSecret,
			help: "The tools that are offered, as an array of patterns or an object. A pattern is a name in which * stands for any text and ? for one byte.",
			read: (*reader).readTools, json: encodeTools},
		{names: []string{"includeTools", "enabled_tools"}, valueType: patternsType,
			secret: notSecret, help: "Gemini's and Codex's names for tools.allow.",
			read: (*reader).readAllow},
		{names: []string{"excludeTools", "disabledTools", "disabled_tools"}, valueType: patternsType,
			secret: notSecret, help: "Gemini's, Windsurf's and Codex's names for tools.deny.",
			read: (*reader).readDeny},
		{names: []string{"overrides"}, valueType: overridesType, secret: secretOverrides,
			help: "What a gateway offers in place of the server's definitions, by the names of tools, and of others after \"prompt:\" or \"resource:\".",
			at:   func(s *Server) any { return &s.ItemOverrides },
			read: func(r *reader, s *Server, v jsonedit.Value) {
				s.ItemOverrides = r.readOverrides(v)
			},
			json: func(s *Server) any { return encodeByName(s.ItemOverrides, overrideFields()) }},
		{names: []string{"asTools"}, valueType: boolType, secret: notSecret,
			help: "A gateway offers the resources and prompts as tools too, for hosts that know only tools: list_resources, read_resource, list_prompts and get_prompt.",
			at:   func(s *Server) any { return &s.AsTools }},
		{names: []string{"options"}, valueType: optionsType,
			help: "mcp-proxy's settings of the server.", read: (*reader).readOptions},
	}
}
