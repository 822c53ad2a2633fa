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
)

// maxTrusted is how many servers a [Store] holds.
const maxTrusted = 10_000

// A Store remembers which servers and profiles from project files the user has trusted, in a file
// that only the user can read; on Windows, where files have no such permissions, whoever the access
// control list of its directory lets in. It may be used by several processes and goroutines: a
// change reads the file anew and replaces it in one step. Of two changes at the same moment, one
// may be lost, so that the user is asked once more.
type Store struct {
	// Path of the file. It need not be there, nor its directory.
	Path string
}

// UserStore is the store of the user: trust.json where [StateFile] says.
func UserStore(env *Environment) *Store { return &Store{StateFile(env, "trust.json")} }

// A trusted is one server or profile that may have an effect.
type trustEntry struct {
	Workspace string `json:"workspace"`
	Server    string `json:"server,omitempty"`
	Profile   string `json:"profile,omitempty"`
	Digest    string `json:"sha256"`
}

// sameSubject reports whether both are about the same thing.
func (t trustEntry) sameSubject(o trustEntry) bool {
	return t.Workspace == o.Workspace && t.Server == o.Server && t.Profile == o.Profile
}

func (s *Server) trustEntry() trustEntry {
	return trustEntry{Workspace: s.Workspace, Server: s.ID, Digest: s.TrustDigest()}
}

func (p *Profile) trustEntry() trustEntry {
	return trustEntry{Workspace: p.Workspace, Profile: p.Name, Digest: p.TrustDigest()}
}

// Check returns nil for a server that may be started: one from a file that the user named, or one
// that is trusted as it is. Otherwise the error is an [*UntrustedError], or says why the store
// cannot be read.
func (st *Store) Check(s *Server) error {
	if !s.Project {
		return nil
	}
	wanted := []trustEntry{s.trustEntry()}
	if s.Disabled { // which takes away from what may have been agreed to
		enabled := *s
		enabled.Disabled = false
		wanted = append(wanted, enabled.trustEntry())
	}
	known, err := st.has(wanted...)
	if err == nil && known != trustedNow {
		err = &UntrustedError{Server: s.ID, Position: s.Position, Changed: known == trustedBefore}
	}
	return err
}

// CheckProfile returns nil for a profile that may have an effect: see [Config.Claims]. Its errors
// are those of Check.
func (st *Store) CheckProfile(p *Profile) error {
	known, err := st.has(p.trustEntry())
	if err == nil && known != trustedNow {
		err = &UntrustedError{Profile: p.Name, Position: p.Position,
			Changed: known == trustedBefore}
	}
	return err
}

// What a store knows of something.
const (
	neverTrusted = iota
	trustedBefore
	trustedNow
)

// has looks something up that may be trusted in any of these forms.
func (st *Store) has(forms ...trustEntry) (known int, err error) {
	all, err := st.read()
	if err != nil {
		return neverTrusted, err
	}
	i := slices.IndexFunc(all, forms[0].sameSubject)
	switch {
	case i < 0:
		return neverTrusted, nil
	case slices.ContainsFunc(forms, func(t trustEntry) bool { return t.Digest == all[i].Digest }):
		return trustedNow, nil
	}
	return trustedBefore, nil
}

// Trust remembers servers as they are now.
func (st *Store) Trust(servers ...*Server) error {
	_, err := st.change(trustEntries(servers), true)
	return err
}

// TrustProfile remembers profiles as they are now.
func (st *Store) TrustProfile(profiles ...*Profile) error {
	_, err := st.change(trustEntries(profiles), true)
	return err
}

// Revoke forgets servers, and returns how many of them were known, trusted as they are or not.
func (st *Store) Revoke(servers ...*Server) (int, error) {
	return st.change(trustEntries(servers), false)
}

// RevokeProfile does that with profiles.
func (st *Store) RevokeProfile(profiles ...*Profile) (int, error) {
	return st.change(trustEntries(profiles), false)
}

func trustEntries[T interface{ trustEntry() trustEntry }](all []T) (entries []trustEntry) {
	for _, one := range all {
		entries = append(entries, one.trustEntry())
	}
	return entries
}

func (st *Store) change(entries []trustEntry, trust bool) (forgotten int, err error) {
	all, err := st.read()
	if err != nil {
		return 0, err
	}
	before := len(all)
	all = slices.DeleteFunc(all, func(t trustEntry) bool {
		return slices.ContainsFunc(entries, t.sameSubject)
	})
	forgotten = before - len(all)
	if trust {
		all = append(all, entries...)
	} else if forgotten == 0 {
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
	return forgotten, atomicfile.Write(st.Path, append(text, '\n'), 0o600)
}

// read returns what is in the store. What it cannot be sure of it does not take for trust.
func (st *Store) read() ([]trustEntry, error) {
	info, err := os.Stat(st.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case atomicfile.Permissions && info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf(
			"%s can be written by others than you; look at it, and then: chmod 600 it", st.Path)
	}
	data, err := readFile(st.Path)
	if err != nil {
		return nil, err
	}
	var content struct {
		Trusted []trustEntry `json:"trusted"`
	}
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("%s: %w; delete it, and trust your servers anew", st.Path, err)
	}
	return content.Trusted, nil
}
