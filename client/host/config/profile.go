package config

import (
	"slices"
	"strings"
)

// A Profile is a named set of servers.
type Profile struct {
	Name      string
	Servers   []string // ids
	Position           // of its name
	Workspace string   // see [Source]
	Project   bool     // see [Source]

	// Overrides is the position of a profile of the user with the same name that this profile of a
	// project replaces, or zero.
	Overrides Position
	// OtherServers are the servers of a project's profile that are from other files.
	OtherServers []*Server
}

// requiresTrust reports whether the profile affects anything outside its own file.
func (p *Profile) requiresTrust() bool {
	return p.Overrides != (Position{}) || p.OtherServers != nil
}

// Profile returns the profile in effect with this name, or nil.
func (c *Config) Profile(name string) *Profile { return c.activeProfiles[name] }

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

// trustReason describes why the profile requires trust.
func (p *Profile) trustReason() string {
	var all []string
	if p.Overrides != (Position{}) {
		all = append(all, "would replace the one at "+p.Overrides.String())
	}
	var ids []string
	for _, s := range p.OtherServers {
		ids = append(ids, s.ID)
	}
	if ids != nil {
		all = append(all, "has servers of other files, "+strings.Join(ids, ", "))
	}
	return strings.Join(all, " and ")
}
