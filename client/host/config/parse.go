package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/mcpjson"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/policy"
)

// MaxServers is the maximum number of servers of a file.
const MaxServers = 256

const (
	maxInputs   = 100
	maxProfiles = 256 // each with as many servers as a file
)

// A Source is a file that may define servers.
type Source struct {
	Path      string
	Workspace string // the absolute directory in which its servers start
	Project   bool   // found in the workspace, so its author may be somebody other than the user
	// Rename gives a server whose name is not a valid id the valid id that is most similar, with a
	// warning.
	Rename bool

	sharedFile     bool // a file that has other purposes, too, and may have no servers
	required       bool // named by the user, so it must exist
	relativeToFile bool // relative paths start at its directory, not at Workspace
}

// base returns the directory in which relative paths start.
func (s Source) base() string {
	if s.relativeToFile {
		return filepath.Dir(s.Path)
	}
	return s.Workspace
}

// A File is the content of one file.
type File struct {
	Source
	Servers     []*Server           // in the order of the file, including those with errors
	Profiles    map[string][]string // ids of servers by name
	Limits      Limits
	Discover    []Discovery
	Policy      *policy.Policy // nil: none
	Rates       []Rate
	Inputs      []Input
	Diagnostics []Diagnostic
	// Keys is the path of keys to the servers, such as mcp.servers; "projects.DIRECTORY.mcpServers"
	// for those of Workspace in Claude Code's settings; "the whole file"; or "" if the file has no
	// member for servers.
	Keys   string
	Native bool // the servers are in stdwire's own form

	profileAt map[string]Position // positions of Profiles by name
	// positions, zero if there are none
	limitsAt, discoverAt, policyAt, ratesAt Position
}

// Err returns the first error of the file as a whole, or nil. After such an error no server of the
// file can be used.
func (f *File) Err() error {
	for _, d := range f.Diagnostics {
		if d.Severity == SeverityError && d.Server == "" {
			return d
		}
	}
	return nil
}

// Parse parses a file: JSON with comments and trailing commas, in any of the formats of MCP
// applications. An empty file has no servers. Parse uses only Exists and Home of env. It does not
// fail: problems are in Diagnostics.
func Parse(env *Environment, source Source, data []byte) *File {
	f := &File{Source: source}
	parseText := jsonedit.ParseJSON
	if mcpjson.IsTOML(source.Path, data) {
		parseText = jsonedit.ParseTOML
	}
	text, err := parseText(source.Path, data)
	if e, ok := err.(*jsonedit.Error); ok {
		f.Diagnostics = append(f.Diagnostics,
			Diagnostic{Position: Position{e.Name, e.Line, e.Column}, Severity: SeverityError,
				Message: e.Reason})
		return f
	}
	r := &fileReader{file: f, reader: &reader{Text: text, isProject: source.Project,
		isCommandFile: func(command string) bool {
			return env.isCommandFile(command, source.base())
		}}}
	if root, ok := r.Root(); ok {
		r.readFile(root)
	}
	f.Diagnostics = r.diagnostics
	return f
}

// A fileReader reads one file.
type fileReader struct {
	*reader
	file    *File
	servers jsonedit.Value
	parent  jsonedit.Value // the object with inputs and the default timeout
}

// readFile reads the members of the file.
func (r *fileReader) readFile(root jsonedit.Value) {
	f := r.file
	r.members(root) // reports duplicates
	if r.findServers(root) {
		f.Keys, f.Native = r.keys, r.isNative
		r.readInputs()
		r.readServers()
		if r.isNative {
			r.readProfiles(root)
			f.Limits, f.limitsAt = r.readLimits(root)
			f.Discover, f.discoverAt = r.readDiscover(root)
			f.Rates, f.ratesAt = r.readRates(root)
		}
	}
	r.readPolicy(root)
}

// findServers finds the servers of a file and its format. It returns false if the file has no
// member for servers, which is not an error.
func (r *fileReader) findServers(root jsonedit.Value) bool {
	if !root.IsObject() {
		r.errorf(root.Start, "the file must be an object, not %s", root.TypeName())
		return false
	}
	found := false
	for _, f := range formats() {
		servers, ok := f.locate(root, r.file.Workspace)
		switch {
		case !ok:
		case found && f.keys != "mcp" && f.keys != "the whole file":
			r.warnf(servers.Start, "the servers under %s are not used: those under %s are", f.keys,
				r.keys)
		case found: // these formats also match files of an earlier format
		case !servers.IsObject():
			r.errorf(servers.Start, "%s must be an object of servers by their ids, not %s", f.keys,
				servers.TypeName())
			return false
		default:
			found, r.format, r.servers, r.parent = true, f, servers, root
		}
	}
	if !found {
		r.warnNoServers(root)
		return false
	}
	if r.keys == "mcp.servers" {
		r.parent, _ = root.Member("mcp")
	}
	if _, ok := root.Member("mcpProxy"); ok && r.keys == "mcpServers" {
		r.format = r.asMCPProxy()
	}
	return true
}

// warnNoServers adds a warning if the file should have servers.
func (r *fileReader) warnNoServers(root jsonedit.Value) {
	members := root.Members()
	if r.file.sharedFile || len(members) == 0 {
		return
	}
	keys := "mcpServers, servers, context_servers, mcp.servers and mcp"
	if r.TOML != nil {
		keys = "mcp_servers"
	}
	for _, m := range members {
		if m.Name == "mcp" {
			continue // one of keys, without servers
		}
		if match := near.Match(m.Name,
			[]string{"mcpServers", "servers", "context_servers", "mcp_servers"}); match != "" {
			r.warnf(m.Offset,
				"the file has no servers under %s; %q is none of these: did you mean %s?", keys,
				m.Name, match)
			return
		}
	}
	r.warnf(root.Start, "%s",
		fmt.Sprintf("the file has no servers: there is nothing under %s", keys))
}

// readServers reads all servers.
func (r *fileReader) readServers() {
	preset, inputs := r.defaultTimeout(), map[string]Input{}
	for _, input := range r.file.Inputs {
		inputs[input.ID] = input
	}
	taken := map[string]string{}
	for _, m := range r.members(r.servers) {
		if strings.HasPrefix(m.Name, "$") && !m.IsObject() {
			continue // $schema
		}
		if r.extensions && m.IsObject() && !definesTransport(m.Value) {
			r.warnf(m.Offset, "%.60q is a server of an extension, which only its application can start",
				m.Name)
			continue
		}
		if len(r.file.Servers) == MaxServers {
			r.errorf(m.Offset, "the file has more than %d servers", MaxServers)
			return
		}
		source := r.file.Source
		s := &Server{ID: m.Name, Position: r.position(m.Offset), Workspace: source.Workspace,
			Project: source.Project, Inputs: inputs, Base: source.base()}
		r.server, r.err, r.transport, r.timeout = s.ID, nil, 0, preset
		r.readServer(s, m)
		s.Err = r.err
		if other, duplicate := taken[strings.ToLower(s.ID)]; duplicate && other != s.ID {
			r.warnf(m.Offset, "its id differs from %q only in case", other)
		}
		taken[strings.ToLower(s.ID)] = s.ID
		r.file.Servers = append(r.file.Servers, s)
		r.server = ""
	}
}

// defaultTimeout returns opencode's default for the timeouts of all servers.
func (r *fileReader) defaultTimeout() *jsonedit.Value {
	if r.keys != "mcp.servers" {
		return nil
	}
	if v, ok := r.parent.Member("timeout"); ok {
		return &v
	}
	return nil
}

// readServer reads one server.
func (r *fileReader) readServer(s *Server, m jsonedit.Member) {
	if itemname.CheckID(s.ID) != nil {
		r.invalidID(s, m)
	}
	if !m.IsObject() {
		r.errorf(m.Start, "a server must be an object, not %s", m.TypeName())
		return
	}
	readMembers(r.reader, m.Value, "", s, serverFields(),
		func(m jsonedit.Member) { r.unknownField(s, m) })
	r.applyTimeout(s)
	if r.err == nil { // after an error, a member may only seem to be missing
		r.checkTransport(s, m)
		r.checkCredentials(s, m)
	}
	if s.URL != "" && r.err == nil {
		if problem := urlProblem(s.URL); problem != "" {
			r.errorf(m.Offset, "%s", problem)
		}
	}
}

// unknownField keeps an unknown member, and warns about it unless other applications commonly write
// it.
func (r *fileReader) unknownField(s *Server, m jsonedit.Member) {
	if m.Name != "tools" { // Codex's member, which Parse would read as stdwire's
		s.extraFields = append(s.extraFields, extraField{m.Name, m.JSON()})
	}
	if r.hasTooManyDiagnostics() || strings.HasPrefix(m.Name, "$") || m.Name == "description" ||
		m.Name == "name" {
		return
	}
	if match := near.Match(m.Name, fieldsOf(serverFields())); match != "" && match != m.Name {
		r.warnf(m.Offset, "unknown field %.60q; did you mean %s?", m.Name, match)
		return
	}
	r.warnf(m.Offset, "unknown field %.60q; it does nothing here", m.Name)
}

// applyTimeout applies the member timeout, whose meaning depends on the format. callTimeoutMs and
// startTimeoutMs have precedence.
func (r *fileReader) applyTimeout(s *Server) {
	if r.timeout == nil {
		return
	}
	v := *r.timeout
	r.field = "timeout"
	target, name := &s.CallTimeout, "callTimeoutMs"
	if r.startTimeout {
		target, name = &s.StartTimeout, "startTimeoutMs"
	}
	d := r.readDuration(v, r.timeoutUnit)
	if r.ambiguousTimeout && 0 < d && d < time.Second {
		r.warnf(v.Start,
			"timeout is not used: in milliseconds it is too short; write %s",
			name)
		return
	}
	if *target == 0 {
		*target = d
	}
}

// invalidID renames a server whose name is not a valid id, or reports an error.
func (r *fileReader) invalidID(s *Server, m jsonedit.Member) {
	id := itemname.SuggestID(m.Name)
	_, taken := r.servers.Member(id)
	taken = taken || slices.ContainsFunc(r.file.Servers, func(o *Server) bool { return o.ID == id })
	switch {
	case r.file.Rename && id != "" && !taken:
		s.ID, r.server = id, id
		r.warnf(m.Offset, "it was called %.60q, which is not a valid id", m.Name)
	default:
		hint := ""
		if id != "" && !taken {
			hint = "; did you mean " + id + "?"
		}
		r.errorf(m.Offset,
			"this is not a valid id: write up to %d letters, digits, '.', '_' and '-', without __%s",
			itemname.MaxID, hint)
	}
}

// checkTransport reports a missing command or URL, and members of the other transport.
func (r *fileReader) checkTransport(s *Server, m jsonedit.Member) {
	switch {
	case s.Command != "" && s.URL != "":
		r.errorf(m.Offset, "it has a command and a URL; remove one of them")
	case s.Command == "" && s.URL == "":
		r.errorf(m.Offset, "it has neither a command nor a URL")
	case s.URL != "" && r.transport == stdioTransport:
		r.errorf(m.Offset, "its type is stdio, but it has a URL instead of a command")
	case s.Command != "" && r.transport == httpTransport:
		r.errorf(m.Offset, "its type is HTTP, but it has a command instead of a URL")
	case s.Command != "" && s.Headers != nil:
		r.warnf(m.Offset, "headers are for servers with a URL; they do nothing here")
	case s.Command != "" && s.OAuth != nil:
		r.warnf(m.Offset, "oauth is for servers with a URL; it does nothing here")
	case s.Command != "" && s.TLS != (TLS{}):
		r.warnf(m.Offset,
			"tlsCA, tlsClientCert and tlsClientKey are for servers with a URL; they do nothing here")
	case (s.TLS.ClientCert == "") != (s.TLS.ClientKey == ""):
		r.errorf(m.Offset, "tlsClientCert and tlsClientKey belong together")
	case s.URL != "" &&
		(s.Args != nil || s.Env != nil || s.EnvFile != "" || s.Dir != "" || s.InheritEnv != nil):
		r.warnf(m.Offset,
			"args, env, envFile, inheritEnv and cwd are for servers with a command; they do nothing here")
	}
}

// checkCredentials reports credentials that do not fit the rest of the definition.
func (r *fileReader) checkCredentials(s *Server, m jsonedit.Member) {
	c := s.Credentials
	if c == nil {
		return
	}
	for _, t := range credentialTypes {
		switch {
		case t.CredentialType != c.Type:
		case s.URL != "" && !t.forURL:
			r.errorf(m.Offset, "credentials of the type %s are for servers with a command", c.Type)
		case s.Command != "" && !t.forCommand:
			r.errorf(m.Offset, "credentials of the type %s are for servers with a URL", c.Type)
		}
	}
	switch {
	case s.PerSession:
		r.errorf(m.Offset, "perSession and credentials exclude each other: with credentials, each user has a process or connection")
	case c.Type == CredentialIDJAG && (s.OAuth == nil || s.OAuth.ClientID == "" ||
		s.OAuth.Issuer == ""):
		r.errorf(m.Offset, "credentials of the type idjag need \"oauth\" with the clientId of the gateway at the server's authorization server, and its issuer")
	case c.Type == CredentialOAuth && s.OAuth != nil && s.OAuth.Disabled:
		r.errorf(m.Offset, "credentials of the type oauth and \"oauth\": false exclude each other")
	}
}

// readInputs reads the inputs of VS Code.
func (r *fileReader) readInputs() {
	all, _ := r.parent.Member("inputs")
	for i, v := range all.Elements() {
		if i == maxInputs {
			r.errorf(v.Start, "the file has more than %d inputs", maxInputs)
			return
		}
		id, ok := v.Member("id")
		name := ""
		if ok {
			name, _ = id.AsString()
		}
		if name == "" {
			r.warnf(v.Start, "an input without an id is ignored")
			continue
		}
		input := Input{ID: name}
		if description, ok := v.Member("description"); ok {
			input.Description, _ = description.AsString()
		}
		if password, ok := v.Member("password"); ok {
			input.Password, _ = password.AsBool()
		}
		r.file.Inputs = append(r.file.Inputs, input)
	}
}

// readProfiles reads the profiles.
func (r *fileReader) readProfiles(root jsonedit.Value) {
	all, ok := root.Member("profiles")
	if !ok {
		return
	}
	r.file.Profiles, r.file.profileAt = map[string][]string{}, map[string]Position{}
	r.field = "profiles"
	if !all.IsObject() {
		r.typeError(all, "an object of arrays of servers' ids")
		return
	}
	for _, m := range r.members(all) {
		r.field = fmt.Sprintf("profiles.%.60s", m.Name)
		if len(r.file.Profiles) == maxProfiles {
			r.errorf(m.Offset, "the file has more than %d profiles", maxProfiles)
			return
		}
		if itemname.CheckID(m.Name) != nil {
			r.errorf(m.Offset,
				"%.60q is not a valid profile name: write up to %d letters, digits, '.', '_' and '-'",
				m.Name, itemname.MaxID)
			continue
		}
		ids := r.readStrings(m.Value)
		if len(ids) > MaxServers {
			r.errorf(m.Offset, "%s has more than %d servers", r.field, MaxServers)
			return
		}
		r.file.Profiles[m.Name], r.file.profileAt[m.Name] = ids, r.position(m.Offset)
	}
}

// readPolicy reads the rules about who may do what. Rules that cannot be used make the file
// unusable: without them, everybody could do everything.
func (r *fileReader) readPolicy(root jsonedit.Value) {
	table, ok := root.Member("policy")
	if !ok {
		return
	}
	_, hasRules := table.Member("rules")
	switch {
	case r.file.Keys == "" && hasRules:
		r.errorf(table.Start,
			"the file has a policy and no servers: name it with --policy, or move the policy to the file of the servers")
	case !r.isNative && hasRules:
		r.errorf(table.Start,
			"the servers of the file are in the form of another application, which has no policy: put the policy into a file of its own for --policy")
	case r.isNative:
		r.file.policyAt = r.position(table.Start)
		var err error
		if r.file.Policy, err = policy.Parse(table); err != nil {
			r.reportPolicy(err)
		}
	}
}

// reportPolicy reports the problems of a table.
func (r *fileReader) reportPolicy(err error) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		if e, ok := errors.AsType[*jsonedit.Error](err); ok {
			r.diagnostics = append(r.diagnostics,
				Diagnostic{Position: Position{e.Name, e.Line, e.Column}, Severity: SeverityError,
					Message: "policy: " + e.Reason})
		}
	}
}
