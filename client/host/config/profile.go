package config

import "strings"

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
