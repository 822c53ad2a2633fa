package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/jsonedit"
	"github.com/stdwire/stdwire/internal/mcpjson"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/policy"
)

const (
	// MaxFile limits the size of a file in bytes: 4 MiB.
	MaxFile = jsonedit.MaxText
	// MaxServers is the maximum number of servers of a file.
	MaxServers = 256
)

const (
	maxDiagnostics = 1000 // of a file; a file with more of them is broken
	maxInputs      = 100
	maxProfiles    = 256 // each with as many servers as a file
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
	r := &reader{Source: source, file: f, environment: env}
	parseText := jsonedit.ParseJSON
	if mcpjson.IsTOML(source.Path, data) {
		parseText = jsonedit.ParseTOML
	}
	var err error
	r.Text, err = parseText(source.Path, data)
	if e, ok := err.(*jsonedit.Error); ok {
		f.Diagnostics = append(f.Diagnostics,
			Diagnostic{Position: Position{e.Name, e.Line, e.Column}, Severity: SeverityError,
				Message: e.Reason})
		return f
	}
	root, ok := r.Root()
	if !ok {
		return f
	}
	r.members(root) // reports duplicates
	if r.serverSection, ok = r.findServers(root); ok {
		f.Keys, f.Native = r.keys, r.isNative
		r.readInputs(r.parent)
		r.readServers(r.servers)
		r.readProfiles(root)
		r.readLimits(root)
		r.readDiscover(root)
		r.readRates(root)
	}
	r.readPolicy(root)
	return f
}

// A reader parses one file.
type reader struct {
	*jsonedit.Text
	Source
	serverSection
	file        *File
	environment *Environment

	server       *Server         // the server that is being read, or nil
	callbackPort int             // of the oauth that is being read; 0 if not given
	field        string          // the member that is being read, for messages
	transport    transport       // of the server
	timeout      *jsonedit.Value // the member timeout of the server, or the default; nil if absent
}

func (r *reader) errorf(at int, format string, args ...any) {
	r.report(SeverityError, at, format, args...)
}
func (r *reader) warnf(at int, format string,
	args ...any) {
	r.report(SeverityWarning, at, format, args...)
}

func (r *reader) report(severity string, at int, format string, args ...any) {
	if r.hasTooManyDiagnostics() {
		return
	}
	d := Diagnostic{Position: r.position(at), Severity: severity,
		Message: fmt.Sprintf(format, args...)}
	if r.server != nil {
		d.Server = r.server.ID
		if severity == SeverityError && r.server.Err == nil {
			r.server.Err = d
		}
	}
	r.file.Diagnostics = append(r.file.Diagnostics, d)
	if len(r.file.Diagnostics) == maxDiagnostics {
		r.file.Diagnostics = append(r.file.Diagnostics,
			Diagnostic{Position: d.Position, Severity: SeverityError,
				Message: "the file has more errors; fix these first"})
	}
}

// position returns the position of a byte of the text.
func (r *reader) position(offset int) Position {
	line, column := r.Position(offset)
	return Position{r.Path, line, column}
}

// hasTooManyDiagnostics reports whether further diagnostics are dropped. Loops check it, because
// finding a position takes time.
func (r *reader) hasTooManyDiagnostics() bool { return len(r.file.Diagnostics) > maxDiagnostics }

// lineColumn returns a position in the same file, for messages.
func (r *reader) lineColumn(at int) string {
	p := r.position(at)
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}

// members returns the members of an object and reports duplicates.
func (r *reader) members(v jsonedit.Value) []jsonedit.Member {
	first := map[string]jsonedit.Member{}
	return slices.DeleteFunc(v.Members(), func(m jsonedit.Member) bool {
		other, duplicate := first[m.Name]
		if !duplicate {
			first[m.Name] = m
			return false
		}
		if r.hasTooManyDiagnostics() {
			return true
		}
		r.errorf(m.Offset,
			"%.60q is already defined at %s; remove one of them",
			m.Name, r.lineColumn(other.Offset))
		return true
	})
}

// readServers reads all servers.
func (r *reader) readServers(all jsonedit.Value) {
	preset, inputs := r.defaultTimeout(), map[string]Input{}
	for _, input := range r.file.Inputs {
		inputs[input.ID] = input
	}
	taken := map[string]string{}
	for _, m := range r.members(all) {
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
		s := &Server{ID: m.Name, Position: r.position(m.Offset), Workspace: r.Workspace,
			Project: r.Project, Inputs: inputs, Base: r.base()}
		r.server, r.transport, r.timeout = s, 0, preset
		r.readServer(m)
		if other, duplicate := taken[strings.ToLower(s.ID)]; duplicate && other != s.ID {
			r.warnf(m.Offset, "its id differs from %q only in case", other)
		}
		taken[strings.ToLower(s.ID)] = s.ID
		r.file.Servers = append(r.file.Servers, s)
		r.server = nil
	}
}

// defaultTimeout returns opencode's default for the timeouts of all servers.
func (r *reader) defaultTimeout() *jsonedit.Value {
	if r.keys != "mcp.servers" {
		return nil
	}
	if v, ok := r.parent.Member("timeout"); ok {
		return &v
	}
	return nil
}

// readServer reads one server.
func (r *reader) readServer(m jsonedit.Member) {
	s := r.server
	if itemname.CheckID(s.ID) != nil {
		r.invalidID(m)
	}
	if !m.IsObject() {
		r.errorf(m.Start, "a server must be an object, not %s", m.TypeName())
		return
	}
	readMembers(r, m.Value, "", s, serverFields(), r.unknownField)
	r.applyTimeout()
	if s.Err == nil { // after an error, a member may only seem to be missing
		r.checkTransport(m)
		r.checkCredentials(m)
	}
	if s.URL != "" && s.Err == nil {
		if problem := urlProblem(s.URL); problem != "" {
			r.errorf(m.Offset, "%s", problem)
		}
	}
}

// invalidID renames a server whose name is not a valid id, or reports an error.
func (r *reader) invalidID(m jsonedit.Member) {
	id := itemname.SuggestID(m.Name)
	_, taken := r.servers.Member(id)
	taken = taken || slices.ContainsFunc(r.file.Servers, func(s *Server) bool { return s.ID == id })
	switch {
	case r.Rename && id != "" && !taken:
		r.server.ID = id
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
func (r *reader) checkTransport(m jsonedit.Member) {
	s := r.server
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

// base returns the directory in which relative paths start.
func (s Source) base() string {
	if s.relativeToFile {
		return filepath.Dir(s.Path)
	}
	return s.Workspace
}

// readInputs reads the inputs of VS Code.
func (r *reader) readInputs(beside jsonedit.Value) {
	all, _ := beside.Member("inputs")
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
func (r *reader) readProfiles(root jsonedit.Value) {
	all, ok := root.Member("profiles")
	if !r.isNative || !ok {
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

// suggestion returns a hint with similar ids of servers or all ids, to append to a message.
func suggestion(id string, servers []*Server) string {
	var ids []string
	for _, s := range servers {
		ids = append(ids, s.ID)
	}
	if hint := near.Instead(id, ids); hint != "" {
		return "; " + hint
	}
	return ""
}

// A Position is a place in a file. Line and Column count from 1, the column in characters. Line is
// 0 for the file as a whole.
type Position struct {
	File         string
	Line, Column int
}

func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// The severities of a [Diagnostic].
const (
	// SeverityWarning: it works, but perhaps not as intended.
	SeverityWarning = "warning"
	// SeverityError: the server, or the file if no server is named, cannot be used.
	SeverityError = "error"
)

// A Diagnostic describes a problem in a file and its remedy. It never quotes a value that may be
// secret.
type Diagnostic struct {
	Position
	Severity string // SeverityWarning, SeverityError
	Server   string // the id of the server, or ""
	Message  string
}

// Error returns the position, the server and the message on one line.
func (d Diagnostic) Error() string {
	where := d.Position.String() + ": "
	if d.Server != "" {
		where += fmt.Sprintf("server %q: ", d.Server)
	}
	return where + d.Message
}
