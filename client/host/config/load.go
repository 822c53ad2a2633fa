package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/itemname"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/policy"
)

// A State is the state of a file.
type State string

const (
	StateUsed     State = "used"
	StateAbsent   State = "absent"   // does not exist
	StateEmpty    State = "empty"    // has no member for servers
	StateShadowed State = "shadowed" // an earlier file of the same directory has precedence
	StateBroken   State = "broken"   // cannot be read or parsed; none of its servers is used
)

// A FileStatus describes a file that was searched for.
type FileStatus struct {
	Source
	State   State
	Servers int   // the number of its servers
	Err     error // set if StateBroken
}

// A Config is the configuration from all files.
type Config struct {
	// Servers are ordered by the precedence of their files and then by their order in the file.
	// They include disabled servers and servers with errors.
	Servers []*Server
	// Profiles are the IDs of the servers of each profile in effect. See [Config.Profile].
	Profiles map[string][]string
	// ProfilesRequiringTrust are the profiles of a project that replace a profile of the user or
	// contain servers of other files. They are in effect only if they are trusted.
	ProfilesRequiringTrust []*Profile
	// Limits are the limits of the first file that has limits and is not a project's. LimitsAt is
	// their position, zero if there are none.
	Limits   Limits
	LimitsAt Position
	// Discover says how tools are listed for clients, from the first file that says so and is not a
	// project's.
	Discover []Discovery
	// Policy are the rules about who may do what, of the first file that has some and is not a
	// project's; nil: everybody may do everything. PolicyAt is their position.
	Policy   *policy.Policy
	PolicyAt Position
	// Rates limit the calls through a gateway, from the first file that has rates and is not a
	// project's. RatesAt is their position, zero if there are none.
	Rates       []Rate
	RatesAt     Position
	Files       []FileStatus // the files that were searched for, by precedence
	Diagnostics []Diagnostic

	activeProfiles map[string]*Profile
}

// Load loads the configuration.
//
// If files are given, Load reads only these, which must exist; later files have precedence.
// Otherwise, if STDWIRE_CONFIG is set, Load reads only that file. Otherwise Load searches mcp.json,
// .mcp.json, .dispatch/mcp.json, .vscode/mcp.json, opencode.json and opencode.jsonc in env.Dir,
// uses the first that has servers, and reads the user's own file (see [UserFile]).
//
// A server of the project's file replaces a server of the user's file with the same id. A profile
// does so only if the user trusts it: see [Config].ProfilesRequiringTrust. A warning names each
// server and profile that is not used. A broken file has precedence over the later files of its
// directory, too.
//
// Servers start in env.Dir, and relative paths start there, too. Relative paths of the user's own
// file and of STDWIRE_CONFIG start at the directory of the file, so that they do not depend on the
// working directory.
//
// Load does not fail: problems are in Diagnostics and in the servers.
func Load(env *Environment, files ...string) *Config {
	c := &Config{Profiles: map[string][]string{}, activeProfiles: map[string]*Profile{}}
	l := &loader{Config: c, env: env}
	for _, location := range search(env, files) {
		l.loadLocation(location)
	}
	l.resolveProfiles()
	l.checkProfiles()
	return c
}

// A loader builds a Config.
type loader struct {
	*Config
	env         *Environment
	allProfiles []*Profile // of all files, by precedence
	discoverAt  Position   // zero without Discover
}

// loadLocation reads the files of a location and uses the first that has servers or is broken.
func (l *loader) loadLocation(sources location) {
	used := ""
	for _, source := range sources {
		f, status := l.loadFile(source)
		status.Servers = len(f.Servers)
		switch {
		case status.State != StateUsed && status.State != StateBroken:
		case used != "":
			status.State, status.Err = StateShadowed, nil
			l.warn(Position{File: source.Path}, "its servers are not used: %s has precedence", used)
		default:
			used = source.Path
			l.Diagnostics = append(l.Diagnostics, f.Diagnostics...)
		}
		if status.State == StateEmpty && used == "" {
			l.Diagnostics = append(l.Diagnostics, f.Diagnostics...)
		}
		l.Files = append(l.Files, status)
		if status.State == StateUsed {
			l.addFile(f)
		}
	}
}

// loadFile reads a file and determines its state.
func (l *loader) loadFile(source Source) (*File, FileStatus) {
	status := FileStatus{Source: source, State: StateUsed}
	broken := func(err error) (*File, FileStatus) {
		status.State = StateBroken
		d := Diagnostic{Position: Position{File: source.Path}, Severity: SeverityError,
			Message: err.Error()}
		status.Err = d
		return &File{Source: source, Diagnostics: []Diagnostic{d}}, status
	}
	if !filepath.IsAbs(source.Path) {
		return broken(errors.New(pathVariable +
			" must be an absolute path"))
	}
	data, err := l.env.ReadFile(source.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !source.required:
		status.State = StateAbsent
		return &File{}, status
	case err != nil:
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err // the diagnostic names the file
		}
		return broken(err)
	}
	f := Parse(l.env, source, data)
	switch {
	case f.Err() != nil:
		status.State, status.Err = StateBroken, f.Err()
	case f.Keys == "":
		status.State = StateEmpty
	}
	return f, status
}

func (l *loader) warn(at Position, format string, args ...any) {
	l.Diagnostics = append(l.Diagnostics,
		Diagnostic{Position: at, Severity: SeverityWarning, Message: fmt.Sprintf(format, args...)})
}

// addFile adds the servers of a file whose IDs are not used yet, all its profiles, and its
// settings.
func (l *loader) addFile(f *File) {
	for _, s := range f.Servers {
		if i := slices.IndexFunc(l.Servers, func(o *Server) bool { return o.ID == s.ID }); i >= 0 {
			if l.Servers[i].Project && !s.Project {
				l.Servers[i].Overrides = s.Position
			}
			message := "it is not used: there is another at " + l.Servers[i].Position.String()
			l.Diagnostics = append(l.Diagnostics,
				Diagnostic{Position: s.Position, Severity: SeverityWarning, Server: s.ID,
					Message: message})
			continue
		}
		l.Servers = append(l.Servers, s)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Profiles)) {
		l.allProfiles = append(l.allProfiles,
			&Profile{Name: name, Servers: f.Profiles[name], Position: f.profileAt[name],
				Workspace: f.Workspace, Project: f.Project})
	}
	l.addSettings(f)
}

// addSettings uses what a file says about a gateway as a whole, unless another file says it or the
// file is a project's, because its author may be somebody else.
func (l *loader) addSettings(f *File) {
	if l.usesSetting("limits", f, f.limitsAt, &l.LimitsAt) {
		l.Limits = f.Limits
	}
	if l.usesSetting("members of discover", f, f.discoverAt, &l.discoverAt) {
		l.Discover = f.Discover
	}
	if l.usesSetting("rules of policy", f, f.policyAt, &l.PolicyAt) {
		l.Policy = f.Policy
	}
	if l.usesSetting("rates", f, f.ratesAt, &l.RatesAt) {
		l.Rates = f.Rates
	}
}

// usesSetting reports whether a setting at a position of a file is used. used is the position of
// the one in effect, zero without one.
func (l *loader) usesSetting(name string, f *File, at Position, used *Position) bool {
	switch {
	case at == (Position{}):
	case f.Project:
		l.warn(at, "the %s are not used: those of a project's file have no effect", name)
	case *used != (Position{}):
		l.warn(at, "the %s are not used: there are others at %s", name, *used)
	default:
		*used = at
		return true
	}
	return false
}

// resolveProfiles determines which profiles are in effect. A profile of a project's file must be
// trusted to replace a profile of the user or to contain servers of other files, because it could
// include servers that the user has excluded.
func (l *loader) resolveProfiles() {
	for i, p := range l.allProfiles {
		if other := l.activeProfiles[p.Name]; other != nil {
			l.warn(p.Position, "the profile %q is not used: there is another at %s", p.Name,
				other.Position)
			continue
		}
		if p.Project {
			l.findConflicts(p, l.allProfiles[i+1:])
		}
		if p.requiresTrust() {
			l.ProfilesRequiringTrust = append(l.ProfilesRequiringTrust, p)
			if l.env.Trusts == nil || !l.env.Trusts(p) {
				l.warn(p.Position, "the profile %q is not used: it %s, and is not trusted", p.Name,
					p.trustReason())
				continue
			}
		}
		l.Profiles[p.Name], l.activeProfiles[p.Name] = p.Servers, p
	}
}

// findConflicts records which profiles of later files, and which servers of other files, a
// project's profile affects.
func (l *loader) findConflicts(p *Profile, others []*Profile) {
	for _, o := range others {
		if o.Name == p.Name {
			p.Overrides = o.Position
		}
	}
	for _, s := range l.Servers {
		if s.File != p.File && slices.Contains(p.Servers, s.ID) {
			p.OtherServers = append(p.OtherServers, s)
		}
	}
}

// checkProfiles reports profiles in effect that contain an unknown server.
func (l *loader) checkProfiles() {
	for _, name := range slices.Sorted(maps.Keys(l.Profiles)) {
		for _, id := range l.Profiles[name] {
			if !slices.ContainsFunc(l.Servers, func(s *Server) bool { return s.ID == id }) {
				message := fmt.Sprintf("the profile %q has an unknown server %.60q%s",
					name, id, suggestion(id, l.Servers))
				l.Diagnostics = append(l.Diagnostics,
					Diagnostic{Position: l.activeProfiles[name].Position, Severity: SeverityError,
						Message: message})
				break
			}
		}
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

// An UnknownError reports that there is no server or profile of that name.
type UnknownError struct {
	What string // "server" or "profile"
	Name string
	Hint string // similar names, or all names; not part of the error message
}

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no %s %q", e.What, e.Name) }

// Server returns the server with this id. If there is none, it returns the only server whose id
// differs only in case from the valid id most similar to id. The server may be disabled and may
// require trust (see [Store.Check]). The error is an [*UnknownError], the Err of the server, or a
// [Diagnostic] of a broken file that may define the server.
func (c *Config) Server(id string) (*Server, error) {
	i := c.index(id)
	for _, f := range c.Files {
		if f.Err != nil {
			return nil, f.Err
		}
		if i >= 0 && f.Path == c.Servers[i].File {
			break
		}
	}
	if i < 0 {
		var ids []string
		for _, s := range c.Servers {
			ids = append(ids, s.ID)
		}
		return nil, &UnknownError{"server", id, near.Instead(id, ids)}
	}
	return c.Servers[i], c.Servers[i].Err
}

// index returns the index in Servers of the server that Server returns, or -1.
func (c *Config) index(id string) int {
	if i := slices.IndexFunc(c.Servers, func(s *Server) bool { return s.ID == id }); i >= 0 {
		return i
	}
	similar := func(s *Server) bool { return strings.EqualFold(s.ID, itemname.SuggestID(id)) }
	i := slices.IndexFunc(c.Servers, similar)
	if i >= 0 && slices.ContainsFunc(c.Servers[i+1:], similar) {
		return -1
	}
	return i
}

// Profile returns the profile in effect with this name, or nil.
func (c *Config) Profile(name string) *Profile { return c.activeProfiles[name] }

// Select returns the servers of a profile in its order, or all servers if profile is "", including
// disabled ones and those with errors. The error is an [*UnknownError], or an [*UntrustedError] for
// a profile that requires trust.
func (c *Config) Select(profile string) (servers []*Server, err error) {
	if profile == "" {
		return c.Servers, nil
	}
	ids, ok := c.Profiles[profile]
	if i := slices.IndexFunc(c.ProfilesRequiringTrust,
		func(p *Profile) bool { return p.Name == profile }); !ok && i >= 0 {
		return nil, &UntrustedError{Profile: profile,
			Position: c.ProfilesRequiringTrust[i].Position}
	}
	if !ok {
		return nil, &UnknownError{"profile", profile,
			near.Instead(profile, slices.Sorted(maps.Keys(c.Profiles)))}
	}
	for _, id := range ids {
		i := slices.IndexFunc(c.Servers, func(s *Server) bool { return s.ID == id })
		switch {
		case i < 0:
			return nil, &UnknownError{"server", id, "the profile " + profile + " has it"}
		case !slices.Contains(servers, c.Servers[i]):
			servers = append(servers, c.Servers[i])
		}
	}
	return servers, nil
}
