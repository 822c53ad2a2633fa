package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/userfile"
)

// maxTrusted is the maximum number of entries of a [Store].
const maxTrusted = 10_000

// A Store records which servers and profiles of project files the user trusts, in a file that only
// the user can read; on Windows, the access control list of its directory determines who can. It is
// safe for concurrent use by several processes and goroutines: a change reads the file again and
// replaces it atomically. Of two simultaneous changes one may be lost.
type Store struct {
	// Path is the path of the file. Neither the file nor its directory need exist.
	Path string
}

// UserStore returns the store of the user: trust.json at [StateFile].
func UserStore(env *Environment) *Store { return &Store{StateFile(env, "trust.json")} }

// A trustEntry is a trusted server or profile.
type trustEntry struct {
	Workspace string `json:"workspace"`
	Server    string `json:"server,omitempty"`
	Profile   string `json:"profile,omitempty"`
	Digest    string `json:"sha256"`
}

// sameSubject reports whether t and o are about the same server or profile.
func (e trustEntry) sameSubject(o trustEntry) bool {
	return e.Workspace == o.Workspace && e.Server == o.Server && e.Profile == o.Profile
}

// A Trustable is a definition of a project's file that a user may trust: a [*Server] or [*Profile].
type Trustable interface {
	trustEntry() trustEntry
	checkTrust(st *Store) error
}

func (s *Server) trustEntry() trustEntry {
	return trustEntry{Workspace: s.Workspace, Server: s.ID, Digest: s.TrustDigest()}
}

func (p *Profile) trustEntry() trustEntry {
	return trustEntry{Workspace: p.Workspace, Profile: p.Name, Digest: p.TrustDigest()}
}

// Check returns nil for a server that may be started, because its file is not a project's or its
// current definition is trusted, and for a trusted profile. Otherwise the error is an
// [*UntrustedError], or says why the store cannot be read.
func (st *Store) Check(t Trustable) error { return t.checkTrust(st) }

func (s *Server) checkTrust(st *Store) error {
	if !s.Project {
		return nil
	}
	wanted := []trustEntry{s.trustEntry()}
	if s.Disabled { // disabling a trusted server needs no further trust
		enabled := *s
		enabled.Disabled = false
		wanted = append(wanted, enabled.trustEntry())
	}
	status, err := st.has(wanted...)
	if err == nil && status != trustedNow {
		err = &UntrustedError{Server: s.ID, Position: s.Position, Changed: status == trustedBefore}
	}
	return err
}

func (p *Profile) checkTrust(st *Store) error {
	status, err := st.has(p.trustEntry())
	if err == nil && status != trustedNow {
		err = &UntrustedError{Profile: p.Name, Position: p.Position,
			Changed: status == trustedBefore}
	}
	return err
}

// The results of Store.has.
const (
	neverTrusted = iota
	trustedBefore
	trustedNow
)

// has looks up a server or profile that is trusted if the store has any of these entries for it.
func (st *Store) has(forms ...trustEntry) (status int, err error) {
	all, err := st.read()
	if err != nil {
		return neverTrusted, err
	}
	i := slices.IndexFunc(all, forms[0].sameSubject)
	switch {
	case i < 0:
		return neverTrusted, nil
	case slices.ContainsFunc(forms, func(e trustEntry) bool { return e.Digest == all[i].Digest }):
		return trustedNow, nil
	}
	return trustedBefore, nil
}

// Trust records current definitions as trusted.
func (st *Store) Trust(all ...Trustable) error {
	_, err := st.change(all, true)
	return err
}

// Revoke removes servers and profiles, whatever their definitions, and returns how many of them
// were recorded.
func (st *Store) Revoke(all ...Trustable) (int, error) { return st.change(all, false) }

func (st *Store) change(these []Trustable, trust bool) (removed int, err error) {
	var entries []trustEntry
	for _, t := range these {
		entries = append(entries, t.trustEntry())
	}
	all, err := st.read()
	if err != nil {
		return 0, err
	}
	before := len(all)
	all = slices.DeleteFunc(all, func(e trustEntry) bool {
		return slices.ContainsFunc(entries, e.sameSubject)
	})
	removed = before - len(all)
	if trust {
		all = append(all, entries...)
	} else if removed == 0 {
		return 0, nil
	}
	if len(all) > maxTrusted {
		return 0, fmt.Errorf("%s has %d servers already; revoke some", st.Path, maxTrusted)
	}
	slices.SortFunc(all, func(a, b trustEntry) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Server, b.Server),
			cmp.Compare(a.Profile, b.Profile))
	})
	text, err := json.MarshalIndent(struct {
		Trusted []trustEntry `json:"trusted"`
	}{all}, "", "  ")
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(st.Path), 0o700); err != nil {
		return 0, err
	}
	return removed, atomicfile.Write(st.Path, append(text, '\n'), 0o600)
}

// read returns the entries of the store. Invalid entries are ignored.
func (st *Store) read() ([]trustEntry, error) {
	info, err := os.Stat(st.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case userfile.OthersMay(info)&0o022 != 0:
		return nil, fmt.Errorf(
			"%s is writable by other users; check its content, then run chmod 600 on it", st.Path)
	}
	data, err := readFile(st.Path)
	if err != nil {
		return nil, err
	}
	var content struct {
		Trusted []trustEntry `json:"trusted"`
	}
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("%s: %w; delete it and trust your servers again", st.Path, err)
	}
	return content.Trusted, nil
}

// An UntrustedError reports that a server or profile of a project's file is not trusted.
type UntrustedError struct {
	Server   string // "" for a profile
	Profile  string
	Position Position
	Changed  bool // an earlier definition was trusted
}

func (e *UntrustedError) Error() string {
	what := "is not trusted"
	if e.Changed {
		what = "has changed since it was trusted"
	}
	if e.Profile != "" {
		return fmt.Sprintf("%s: profile %q %s", e.Position, e.Profile, what)
	}
	return fmt.Sprintf("%s: server %q %s", e.Position, e.Server, what)
}
