package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/stdwire/stdwire/internal/near"
)

// A State is what became of a file.
type State string

const (
	Used     State = "used"
	Absent   State = "absent"
	Empty    State = "empty"    // it is there, and has no place for servers
	Shadowed State = "shadowed" // it has one, and a file before it in the same directory as well
	// it cannot be read, or has an error that concerns all of it: none of its servers is used
	Broken State = "broken"
)

// A Found is a file that was looked for.
type FileStatus struct {
	Source
	State   State
	Servers int   // how many it has
	Err     error // why it is broken
}

// A Config is all that is configured, from all files.
type Config struct {
	// what wins comes first; among those of a file, in its order. Servers with errors and disabled
	// ones are among them
	Servers  []*Server
	Profiles map[string][]string // that are in effect; see [Config.Profile]
	// of a project, that are in effect only if they are trusted, whether they are or not
	ProfilesRequiringTrust []*Profile
	Files                  []FileStatus // that were looked for, what wins first
	Diagnostics            []Diagnostic

	activeProfiles map[string]*Profile
}

// Load finds out what is configured.
//
// If files are given, they are all there is, and have to be there: of servers with the same id the
// one in the later file counts. Otherwise, if STDWIRE_CONFIG is set, it is the same with that one
// file. Otherwise these are looked for:
//
//	mcp.json, .mcp.json, .dispatch/mcp.json, .vscode/mcp.json,   in env.Dir: the first that has
//	opencode.json, opencode.jsonc                                servers
//	stdwire/mcp.json                                             the user's own file
//
// Servers of the former hide those of the same id in the latter; profiles of the former do so only
// if the user has agreed to that, see [Config].ProfilesRequiringTrust. A warning names what is
// hidden. A file that is broken hides what it might have hidden: the rest of its directory.
//
// All servers start in env.Dir, and relative paths start there too; but in the user's own file and
// that of STDWIRE_CONFIG at the directory of the file, so that they mean the same wherever the user
// is.
//
// Load does not fail: what is wrong is in the Diagnostics, and in the servers.
func Load(env *Environment, files ...string) *Config {
	c := &Config{Profiles: map[string][]string{}, activeProfiles: map[string]*Profile{}}
	l := &loader{Config: c, env: env}
	for _, place := range search(env, files) {
		l.loadLocation(place)
	}
	l.resolveProfiles()
	l.checkProfiles()
	return c
}

type loader struct {
	*Config
	env         *Environment
	allProfiles []*Profile // of all files, what wins first
}

func (l *loader) loadLocation(sources location) {
	used := ""
	for _, source := range sources {
		f, found := l.loadFile(source)
		found.Servers = len(f.Servers)
		switch {
		case found.State != Used && found.State != Broken:
		case used != "":
			found.State, found.Err = Shadowed, nil
			l.warn(Position{File: source.Path}, "its servers are not used: %s is there", used)
		default:
			used = source.Path
			l.Diagnostics = append(l.Diagnostics, f.Diagnostics...)
		}
		if found.State == Empty && used == "" {
			l.Diagnostics = append(l.Diagnostics, f.Diagnostics...)
		}
		l.Files = append(l.Files, found)
		if found.State == Used {
			l.addFile(f)
		}
	}
}

// loadFile reads and judges a file.
func (l *loader) loadFile(source Source) (*File, FileStatus) {
	found := FileStatus{Source: source, State: Used}
	broken := func(err error) (*File, FileStatus) {
		found.State = Broken
		d := Diagnostic{Position: Position{File: source.Path}, Severity: Error,
			Message: err.Error()}
		found.Err = d
		return &File{Source: source, Diagnostics: []Diagnostic{d}}, found
	}
	if !filepath.IsAbs(source.Path) {
		return broken(errors.New(pathVariable +
			" wants an absolute path: what a relative one means depends on the directory"))
	}
	data, err := l.env.ReadFile(source.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !source.required:
		found.State = Absent
		return &File{}, found
	case err != nil:
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err // which file is known
		}
		return broken(err)
	}
	f := Parse(l.env, source, data)
	switch {
	case f.Err() != nil:
		found.State, found.Err = Broken, f.Err()
	case !f.HasServers:
		found.State = Empty
	}
	return f, found
}

func (l *loader) warn(at Position, format string, args ...any) {
	l.Diagnostics = append(l.Diagnostics,
		Diagnostic{Position: at, Severity: Warning, Message: fmt.Sprintf(format, args...)})
}

// addFile takes the servers and profiles of a file, as far as there are none of the same name.
func (l *loader) addFile(f *File) {
	for _, s := range f.Servers {
		if i := slices.IndexFunc(l.Servers, func(o *Server) bool { return o.ID == s.ID }); i >= 0 {
			if l.Servers[i].Project && !s.Project {
				l.Servers[i].Overrides = s.Position
			}
			message := "it is not used: there is another at " + l.Servers[i].Position.String()
			l.Diagnostics = append(l.Diagnostics,
				Diagnostic{Position: s.Position, Severity: Warning, Server: s.ID, Message: message})
			continue
		}
		l.Servers = append(l.Servers, s)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Profiles)) {
		l.allProfiles = append(l.allProfiles,
			&Profile{Name: name, Servers: f.Profiles[name], Position: f.profileAt[name],
				Workspace: f.Workspace, Project: f.Project})
	}
}

func (l *loader) checkProfiles() {
	for _, name := range slices.Sorted(maps.Keys(l.Profiles)) {
		for _, id := range l.Profiles[name] {
			if !slices.ContainsFunc(l.Servers, func(s *Server) bool { return s.ID == id }) {
				message := fmt.Sprintf("the profile %q has a server %.60q, which there is not%s",
					name, id, suggestion(id, l.Servers))
				l.Diagnostics = append(l.Diagnostics,
					Diagnostic{Position: l.activeProfiles[name].Position, Severity: Error,
						Message: message})
				break
			}
		}
	}
}

// An UnknownError says that there is no server or profile of that name.
type UnknownError struct {
	Kind string // "server" or "profile"
	Name string
	Hint string // which may be meant, or which there are; not part of the text
}

func (e *UnknownError) Error() string { return fmt.Sprintf("there is no %s %q", e.Kind, e.Name) }

// Server returns the server with an id, which may be disabled, and may have to be trusted first
// (see [Store.Check]). The error is an [*UnknownError], the Err of the server, or a [Diagnostic] of
// a file that may have such a server but is broken.
func (c *Config) Server(id string) (*Server, error) {
	i := slices.IndexFunc(c.Servers, func(s *Server) bool { return s.ID == id })
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

// Select returns the servers of a profile, in its order; for "" all there are. Those with errors
// are among them, and disabled ones. The error is an [*UnknownError], or an [*UntrustedError] for
// one of the Claims.
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
