package config

import (
	"slices"
	"strings"
)

// A Profile is a set of servers that a file has a name for.
type Profile struct {
	Name      string
	Servers   []string // their ids
	Position           // of its name
	Workspace string   // the directory that it belongs to
	Project   bool     // its file was found in the workspace, and not named by the user

	// Of one of [Config].Claims: where the user's own file has a profile of this name, zero if it
	// has none; and those of its servers that are not from its own file.
	Hides     Position
	Elsewhere []*Server
}

// claims reports whether the profile decides about what is not its own file's.
func (p *Profile) claims() bool { return p.Hides != (Position{}) || p.Elsewhere != nil }

// Profile returns the profile of that name that is in effect, nil if none is.
func (c *Config) Profile(name string) *Profile { return c.inEffect[name] }

// profiles finds out which profiles are in effect. One of a project's file neither takes the place
// of one of the user's nor has servers from elsewhere unless it is trusted: it would offer what the
// user left out.
func (l *loader) profiles() {
	for i, p := range l.all {
		if other := l.inEffect[p.Name]; other != nil {
			l.warn(p.Position, "the profile %q is not used: there is another at %s", p.Name, other.Position)
			continue
		}
		if p.Project {
			l.compare(p, l.all[i+1:])
		}
		if p.claims() {
			l.Claims = append(l.Claims, p)
			if l.env.Trusts == nil || !l.env.Trusts(p) {
				l.warn(p.Position, "the profile %q is not used: it %s, and is not trusted", p.Name, p.claim())
				continue
			}
		}
		l.Profiles[p.Name], l.inEffect[p.Name] = p.Servers, p
	}
}

// compare notes what a project's profile decides about, with the profiles of the files after its
// own.
func (l *loader) compare(p *Profile, others []*Profile) {
	for _, o := range others {
		if o.Name == p.Name {
			p.Hides = o.Position
		}
	}
	for _, s := range l.Servers {
		if s.File != p.File && slices.Contains(p.Servers, s.ID) {
			p.Elsewhere = append(p.Elsewhere, s)
		}
	}
}

// claim says in words what it decides about.
func (p *Profile) claim() string {
	var all []string
	if p.Hides != (Position{}) {
		all = append(all, "would take the place of the one at "+p.Hides.String())
	}
	var ids []string
	for _, s := range p.Elsewhere {
		ids = append(ids, s.ID)
	}
	if ids != nil {
		all = append(all, "has servers of other files, "+strings.Join(ids, ", "))
	}
	return strings.Join(all, " and ")
}
