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

func allOf(all ...object) object { return object{"allOf": all} }
func not(s object) object        { return object{"not": s} }

// has returns the schema of an object that has one of these members.
func has(names ...string) object {
	var all []object
	for _, name := range names {
		all = append(all, object{"required": []string{name}})
	}
	if len(all) == 1 {
		return all[0]
	}
	return anyOf(all...)
}

// given returns the schema of an object in which one of these members is a string other than "".
func given(names ...string) object {
	var all []object
	for _, name := range names {
		all = append(all, object{"required": []string{name},
			"properties": object{name: not(object{"const": ""})}})
	}
	return anyOf(all...)
}

// withMember returns the schema of an object in which a member, if present, matches s.
func withMember(name string, s object) object { return object{"properties": object{name: s}} }

// closed returns s with other members forbidden.
func closed(s object) object {
	s["additionalProperties"] = false
	return s
}

// described returns s with a description.
func described(s object, help string) object {
	c := object{"description": help}
	for key, value := range s {
		c[key] = value
	}
	return c
}

// objectSchema is the schema of an object with these fields. It may have others.
func objectSchema[R any](fields []field[R]) object {
	properties := object{}
	var conflicts []object
	for _, f := range fields {
		for i, name := range f.names {
			help := f.help
			if i > 0 {
				help = "The same as " + f.names[0] + "."
			}
			properties[name] = described(f.schema, help)
			if name == "auth" { // see readMembers
				properties[name] = object{"if": object{"type": "object"}, "then": properties[name]}
			}
			for _, other := range f.names[:i] {
				both := object{"required": []string{other, name}}
				if name == "auth" {
					both = allOf(both, withMember(name, object{"type": "object"}))
				}
				conflicts = append(conflicts, not(both))
			}
		}
	}
	s := object{"type": "object", "properties": properties}
	if conflicts != nil {
		s["allOf"] = conflicts
	}
	return s
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

// idPattern matches the ids of servers and the names of profiles, except those with "__".
const idPattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`

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
