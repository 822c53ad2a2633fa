package config

import (
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/policy"
)

// Schema returns a JSON Schema (2020-12) of configuration files without comments. It accepts every
// file that [Parse] reads without an error, in the formats of all applications. It cannot reject
// some that Parse rejects: duplicate members, two ids that differ only in case, a number such as
// 1.0 where a whole number is required, a URL with an invalid host, more than [MaxServers] servers,
// overrides that give two items or arguments one name, some rules of a policy, hints that only the
// user's own file may have, and rates with one name or that would never allow a call.
//
// The schema and the parser use the same tables of members: see [Fields].
func Schema() []byte {
	root := object{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "Configuration of MCP servers",
		"description": "A file that stdwire reads. Comments and trailing commas are allowed.",
		"type":        "object",
		"properties":  object{},
		"$defs": object{
			"servers": serversSchema(reference("server")), "server": serverSchema(), "oauth": oauthSchema(),
			"credentials": credentialsSchema(),
			"tools":       closed(objectSchema(toolsFields())),
			"options":     objectSchema(optionsFields()),
			"overrides":   overridesSchema(), "argument": argumentSchema(),
			"limits":   closed(objectSchema(limitFields())),
			"isServer": isServerSchema(),
		},
	}
	properties := root["properties"].(object)
	for _, f := range fileFields() {
		properties[f.names[0]] = described(f.schema, f.help)
	}
	// The parser reads only the first of the members that hold servers.
	var rest object
	for _, f := range []object{
		{"if": wholeFileSchema(), "then": reference("servers")},
		{"if": mcpServersSchema(), "then": withMember("mcp", withMember("servers", reference("servers"))),
			"else": object{"if": mcpSchema(), "then": withMember("mcp", reference("servers"))}},
		{"if": has("mcp_servers"), "then": withMember("mcp_servers", reference("servers"))},
		{"if": has("context_servers"), "then": withMember("context_servers", zedServersSchema())},
		{"if": has("servers"), "then": allOf(withMember("servers", reference("servers")),
			withMember("profiles", profilesSchema()))},
		{"if": has("mcpServers"), "then": allOf(withMember("mcpServers", reference("servers")),
			object{"if": object{"not": has("mcpProxy")},
				"then": allOf(withMember("profiles", profilesSchema()),
					withMember("limits", reference("limits")),
					withMember("discover", discoverSchema()),
					withMember("policy", policy.Schema()),
					withMember("rates", ratesSchema()))})},
	} {
		last := f
		for last["else"] != nil {
			last = last["else"].(object)
		}
		if rest != nil {
			last["else"] = rest
		}
		rest = f
	}
	root["allOf"] = []object{rest}
	return jsonedit.Indent(jsonedit.Encode(root), "", "  ")
}

// zedServersSchema returns the schema of the servers of Zed. A server without a command and a URL
// belongs to an extension; the parser reads nothing of it, not even its id.
func zedServersSchema() object {
	extension := allOf(object{"type": "object"},
		not(has(append([]string{"command"}, urlNames...)...)))
	s := serversSchema(anyOf(extension, reference("server")))
	delete(s, "propertyNames")
	return s
}

// serversSchema is the schema of servers by their ids.
func serversSchema(server object) object {
	return object{
		"type": "object",
		"patternProperties": object{
			`^\$`:       not(object{"type": "object"}), // $schema
			`^([^$]|$)`: server,
		},
		"propertyNames": anyOf(pattern(`^\$`), allOf(pattern(idPattern), not(pattern(`__`)))),
	}
}

func profilesSchema() object {
	return object{"type": "object",
		"propertyNames":        allOf(pattern(idPattern), not(pattern(`__`))),
		"additionalProperties": object{"type": "array", "items": scalar, "maxItems": MaxServers},
		"maxProperties":        maxProfiles}
}

func serverSchema() object {
	s := objectSchema(serverFields())
	isCommand, isURL := given("command"), given(urlNames...)
	ofTransport := func(t transport) object {
		var all []object
		for _, name := range transportMembers {
			all = append(all, object{"required": []string{name},
				"properties": object{name: transportPattern(t)}})
		}
		return anyOf(all...)
	}
	allows := []object{ // what sets the tools that are allowed
		{"required": []string{"tools"}, "properties": object{
			"tools": anyOf(object{"type": "array"}, has("allow"))}},
		has("includeTools", "enabled_tools"),
		{"required": []string{"options"}, "properties": object{"options": object{
			"required": []string{"toolFilter"}, "properties": object{"toolFilter": object{
				"properties": object{"mode": object{"const": "allow"}}}}}}},
	}
	s["allOf"] = append(s["allOf"].([]object),
		not(allOf(allows[0], allows[1])), not(allOf(allows[0], allows[2])),
		not(allOf(allows[1], allows[2])))
	s["oneOf"] = []object{allOf(isCommand, not(ofTransport(httpTransport))),
		allOf(isURL, not(ofTransport(stdioTransport)))}
	s["not"] = allOf(isCommand, isURL)
	s["allOf"] = append(s["allOf"].([]object), credentialConditions(isCommand, isURL)...)
	return s
}

func oauthSchema() object {
	s := objectSchema(oauthFields())
	names := map[string][]string{}
	for _, f := range oauthFields() {
		names[f.names[0]] = f.names
	}
	clientID, secret := given(names["clientId"]...), given(names["clientSecret"]...)
	issuer := given(names["issuer"]...)
	credentials := []object{}
	for _, name := range names["grantType"] {
		credentials = append(credentials, object{"required": []string{name},
			"properties": object{name: object{"const": clientCredentials}}})
	}
	disabled := object{"required": []string{"enabled"},
		"properties": object{"enabled": object{"const": false}}}
	s["allOf"] = append(s["allOf"].([]object),
		object{"if": secret, "then": allOf(clientID, anyOf(issuer, disabled))},
		object{"if": anyOf(credentials...), "then": secret},
		not(allOf(has(names["callbackPort"]...), given(names["redirectUri"]...))))
	return s
}

// isServerSchema accepts what [isServer] does.
func isServerSchema() object {
	var all []object
	for _, name := range append([]string{"command"}, urlNames...) {
		all = append(all, object{"required": []string{name},
			"properties": object{name: not(object{"type": "object"})}})
	}
	return object{"type": "object", "anyOf": all}
}

// mcpServersSchema accepts what [settingsServers] does.
func mcpServersSchema() object {
	return allOf(has("mcp"), withMember("mcp", object{"type": "object",
		"required": []string{"servers"}, "properties": object{
			"servers": allOf(object{"type": "object"}, not(reference("isServer")))}}))
}

// mcpSchema accepts what [opencode] does.
func mcpSchema() object {
	return allOf(has("mcp"), withMember("mcp", object{"type": "object", "anyOf": []object{
		{"maxProperties": 0},
		not(object{"additionalProperties": not(reference("isServer"))})}}))
}

// wholeFileSchema accepts what [wholeFile] does.
func wholeFileSchema() object {
	return object{"patternProperties": object{`^([^$]|$)`: reference("isServer")},
		"not": object{"additionalProperties": not(reference("isServer"))}}
}

// fileFields returns the members of a file. Their read functions are nil, because the meaning of
// some depends on others: see [formats], readInputs and readProfiles.
func fileFields() []field[*File] {
	servers := valueType{"object of servers by id", object{}}
	return []field[*File]{
		{names: []string{"mcpServers"}, valueType: servers,
			help: "The servers, in stdwire's own form and that of most applications."},
		{names: []string{"servers"}, valueType: servers,
			help: "The servers in a file of VS Code or Dispatch."},
		{names: []string{"context_servers"}, valueType: servers, help: "The servers in a file of Zed."},
		{names: []string{"mcp_servers"}, valueType: servers,
			help: "The servers in a file of Codex, which is TOML."},
		{names: []string{"mcp"}, valueType: valueType{"object", object{}},
			help: "The servers in a file of opencode or Crush, or, in its member servers, of opencode 2 and VS Code's older settings."},
		{names: []string{"projects"}, valueType: valueType{"object", object{}},
			help: "The directories in Claude Code's settings; mcpServers of the working directory has the servers."},
		{names: []string{"mcpProxy"}, valueType: valueType{"object", object{}},
			help: "Marks a file of mcp-proxy, in which timeout counts nanoseconds."},
		{names: []string{"profiles"}, valueType: valueType{"object of arrays of ids", object{}},
			help: "Sets of servers by name, for --profile."},
		{names: []string{"inputs"}, valueType: valueType{"array of objects", object{}},
			help: "What ${input:ID} asks for, as in VS Code."},
		{names: []string{"limits"}, valueType: valueType{"object", object{}},
			help: "The limits of a gateway, in stdwire's own form of a file that is not a project's."},
		{names: []string{"discover"}, valueType: valueType{"object of modes by clients' names",
			discoverSchema()},
			help: "How the tools are listed for clients, in such a file: " + discoveryForm + "."},
		{names: []string{"policy"}, valueType: valueType{"object", object{}},
			help: "The rules about who may do what, in such a file: see stdwire help policy."},
		{names: []string{"rates"}, valueType: valueType{"array of objects", object{}},
			help: "How often, and how many at a time, clients may call, in such a file."},
	}
}

// inputFields returns the members of an element of inputs.
func inputFields() []field[*Input] {
	return []field[*Input]{
		{names: []string{"id"}, valueType: textType, help: "The ID in ${input:ID}."},
		{names: []string{"description"}, valueType: textType, help: "What the user is asked."},
		{names: []string{"password"}, valueType: boolType,
			help: "The value is not shown while it is typed."},
	}
}

// A Field describes a member of a configuration file.
type Field struct {
	// the object: "file", "server", "tools", "override", "argument" of one, "options", "oauth",
	// "credentials", "input", "limits" or "rate"
	Object string
	Names  []string // stdwire's name first, then those of other applications
	Type   string   // of the value, for people
	Help   string   // sentences
}

// Fields returns the members that [Parse] reads, by object.
func Fields() (all []Field) {
	all = appendFields(all, "file", fileFields())
	all = appendFields(all, "server", serverFields())
	all = appendFields(all, "tools", toolsFields())
	all = appendFields(all, "override", overrideFields())
	all = appendFields(all, "argument", argumentFields())
	all = appendFields(all, "oauth", oauthFields())
	all = appendFields(all, "credentials", credentialFields())
	all = appendFields(all, "input", inputFields())
	all = appendFields(all, "limits", limitFields())
	all = appendFields(all, "rate", rateFields())
	return appendFields(all, "options", optionsFields())
}

func appendFields[R any](all []Field, object string, fields []field[R]) []Field {
	for _, f := range fields {
		all = append(all, Field{object, f.names, f.name, f.help})
	}
	return all
}
