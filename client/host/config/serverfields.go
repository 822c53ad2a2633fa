package config

import (
	"time"

	"github.com/stdwire/stdwire/internal/jsonedit"
)

var (
	urlNames         = []string{"url", "serverUrl", "httpUrl"}
	transportMembers = []string{"type", "transport", "transportType"}
)

// serverFields returns the members of a server.
func serverFields() []field[*reader] {
	return []field[*reader]{
		{[]string{"command"}, commandType,
			"The program of a server on stdio, or an array of it and its first arguments. A command line that is not the name of a file is split, with a warning.",
			(*reader).readCommand},
		{[]string{"args"}, textsType, "The arguments of the program.", func(r *reader, v jsonedit.Value) {
			r.server.Args = append(r.server.Args, r.readStrings(v)...)
		}},
		{[]string{"cwd"}, textType,
			"The working directory of the program; without it, that of stdwire.",
			func(r *reader, v jsonedit.Value) { r.server.Dir = r.readString(v) }},
		{[]string{"env", "environment"}, envType,
			"Environment variables for the program; they have precedence over envFile.",
			func(r *reader, v jsonedit.Value) { r.server.Env = r.readEnv(v) }},
		{[]string{"envFile"}, textType, "A file with more variables, as lines of NAME=value.",
			func(r *reader, v jsonedit.Value) { r.server.EnvFile = r.readString(v) }},
		{[]string{"inheritEnv"}, inheritEnvType,
			"Variables to pass on from the environment of stdwire, beyond the few that every program needs: true for all, or names such as \"AWS_*\". Credentials in HTTPS_PROXY, UV_* and npm_config_* are passed on only if named.",
			(*reader).readInheritEnv},
		{[]string{"env_vars"}, variableNamesType,
			"Codex's name for inheritEnv: variables to pass on.", (*reader).readVariableNames},
		{urlNames, urlType, "The http: or https: URL of a server.",
			func(r *reader, v jsonedit.Value) { r.server.URL = r.readString(v) }},
		{[]string{"headers", "http_headers"}, headersType,
			"HTTP headers for each request to the URL.",
			func(r *reader, v jsonedit.Value) { r.addHeaders(v, r.readMap(v)) }},
		{[]string{"env_http_headers"}, headersType,
			"HTTP headers whose values are those of environment variables.",
			(*reader).readHeaderVariables},
		{[]string{"bearer_token_env_var"}, textType,
			"The environment variable with the bearer token for each request to the URL.",
			(*reader).readBearerVariable},
		{[]string{"oauth", "auth"}, oauthType,
			"Authorization at the URL: false for none, or an object. See stdwire help auth.",
			(*reader).readOAuth},
		{[]string{"tlsCA"}, textType,
			"A PEM file of the authorities that sign the server's certificate, in place of the system's.",
			func(r *reader, v jsonedit.Value) { r.server.TLS.CA = r.readString(v) }},
		{[]string{"tlsClientCert"}, textType, "A PEM file with the client's certificate.",
			func(r *reader, v jsonedit.Value) { r.server.TLS.ClientCert = r.readString(v) }},
		{[]string{"tlsClientKey"}, textType, "A PEM file with the key of that certificate.",
			func(r *reader, v jsonedit.Value) { r.server.TLS.ClientKey = r.readString(v) }},
		{transportMembers, transportType,
			"The transport. It may be left out: command means stdio, url means HTTP.",
			(*reader).readTransport},
		{[]string{"era", "protocolEra"}, eraType,
			"The protocol: modern from revision 2026-07-28, legacy before. auto finds out, the default.",
			(*reader).readEra},
		{[]string{"disabled"}, boolType, "The server is not started.",
			func(r *reader, v jsonedit.Value) { r.server.Disabled = r.readBool(v) }},
		{[]string{"enabled"}, boolType, "false is the same as \"disabled\": true.",
			func(r *reader, v jsonedit.Value) {
				r.server.Disabled = r.server.Disabled || !r.readBool(v)
			}},
		{[]string{"perSession"}, boolType,
			"Each client of a gateway gets a process of its own. Requests without a session, such as those of modern clients over HTTP, cannot use the server.",
			func(r *reader, v jsonedit.Value) { r.server.PerSession = r.readBool(v) }},
		{[]string{"required"}, boolType,
			"A gateway says at /readyz that it is not ready while this server starts or fails.",
			func(r *reader, v jsonedit.Value) { r.server.Required = r.readBool(v) }},
		{[]string{"startTimeoutMs"}, millisecondsType, "The time for the start and the handshake.",
			func(r *reader, v jsonedit.Value) {
				r.server.StartTimeout = r.readDuration(v, time.Millisecond)
			}},
		{[]string{"callTimeoutMs"}, millisecondsType, "The time for a call.",
			func(r *reader, v jsonedit.Value) {
				r.server.CallTimeout = r.readDuration(v, time.Millisecond)
			}},
		{[]string{"startup_timeout_ms"}, millisecondsType, "Codex's name for startTimeoutMs.",
			func(r *reader, v jsonedit.Value) {
				r.server.StartTimeout = r.readDuration(v, time.Millisecond)
			}},
		{[]string{"startup_timeout_sec"}, secondsType, "The same in seconds.",
			func(r *reader, v jsonedit.Value) { r.server.StartTimeout = r.readSeconds(v) }},
		{[]string{"tool_timeout_sec"}, secondsType, "Codex's name for callTimeoutMs, in seconds.",
			func(r *reader, v jsonedit.Value) { r.server.CallTimeout = r.readSeconds(v) }},
		{[]string{"idleStop"}, durationType,
			"A gateway stops the server after this time without calls, and starts it for the next one.",
			(*reader).readIdleStop},
		{[]string{"maxArguments"}, bytesType,
			"The size of the arguments of a call through a gateway; default 8 MiB.",
			func(r *reader, v jsonedit.Value) { r.server.MaxArguments = r.readSize(v) }},
		{[]string{"maxResult"}, bytesType,
			"The size of the result of a call through a gateway; default 8 MiB, over stdio at most 10 MiB.",
			func(r *reader, v jsonedit.Value) { r.server.MaxResult = r.readSize(v) }},
		{[]string{"timeout"}, timeoutType,
			"What the application that wrote the file means: milliseconds of a call; in Zed seconds; in opencode and Crush milliseconds of the start; in mcp-proxy nanoseconds. startTimeoutMs and callTimeoutMs have precedence.",
			func(r *reader, v jsonedit.Value) { r.timeout = &v }},
		{[]string{"tools"}, toolsType,
			"The tools that are offered, as an array of patterns or an object. A pattern is a name in which * stands for any text and ? for one byte.",
			(*reader).readTools},
		{[]string{"includeTools", "enabled_tools"}, patternsType,
			"Gemini's and Codex's names for tools.allow.",
			func(r *reader, v jsonedit.Value) { r.setAllow(v, r.readPatterns(v)) }},
		{[]string{"excludeTools", "disabledTools", "disabled_tools"}, patternsType,
			"Gemini's, Windsurf's and Codex's names for tools.deny.", (*reader).readDeny},
		{[]string{"options"}, optionsType, "mcp-proxy's settings of the server.",
			(*reader).readOptions},
	}
}
