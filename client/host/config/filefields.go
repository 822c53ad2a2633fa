package config

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
	Object string // the object: "file", "server", "tools", "options", "oauth", "input"
	// or "limits"
	Names []string // stdwire's name first, then those of other applications
	Type  string   // of the value, for people
	Help  string   // sentences
}

// Fields returns the members that [Parse] reads, by object.
func Fields() (all []Field) {
	all = appendFields(all, "file", fileFields())
	all = appendFields(all, "server", serverFields())
	all = appendFields(all, "tools", toolsFields())
	all = appendFields(all, "oauth", oauthFields())
	all = appendFields(all, "input", inputFields())
	all = appendFields(all, "limits", limitFields())
	return appendFields(all, "options", optionsFields())
}

func appendFields[R any](all []Field, object string, fields []field[R]) []Field {
	for _, f := range fields {
		all = append(all, Field{object, f.names, f.name, f.help})
	}
	return all
}
