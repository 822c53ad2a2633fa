package pin

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/rpc/mcp"
)

// ErrNotFound matches the error of [File.Accept] for a name without a definition, and of
// [File.Forget] for a name without a pin or an unknown server.
var ErrNotFound = errors.New("not found")

// A File is a file of pins. Its methods are safe for concurrent use. Several processes may use the
// same file: each method reads it again, and of two simultaneous writes one may be lost.
//
// Writing a large file takes long, so concurrent calls share one write: when a gateway of 200
// servers starts for the first time, it checks all of them for the first time.
type File struct {
	path    string
	writing sync.Mutex // held while the file is written; locked before mu

	mu sync.Mutex
	// current is the parsed content of the file whose SHA-256 is sum or, while changes > written,
	// the content to write. It is nil before the file was read, and after an error.
	current  *contents
	sum      [sha256.Size]byte
	info     fs.FileInfo // of the file when it was read
	readAt   time.Time
	revision int // see Revision
	changes  int // number of the last change of current; the first is 1
	written  int // number of the last change that is in the file or was lost
	// The changes after lostAfter up to lostTo were lost because of lostErr.
	lostAfter, lostTo int
	lostErr           error
}

// Path returns the name of the file.
func (f *File) Path() string { return f.path }

// New returns the pins in a file, which is read at the first use. The file need not exist: the
// first pin creates it, readable by its owner only.
func New(path string) *File { return &File{path: path} }

// Open is [New], but reads the file at once. It returns an error, and does not change the file, if
// the file cannot be read or is not one of pins.
func Open(path string) (*File, error) {
	f := New(path)
	_, err := f.read()
	return f, err
}

// Revision returns a number that grows when definitions that were checked before may have other
// verdicts now: a pin was accepted or forgotten, another program has changed the file, or it could
// not be read. It is at least 1. First uses do not change it.
func (f *File) Revision() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.read() // an error changes it
	return f.revision
}

// Check compares a server's definitions of one kind with their pins. If the kind was never checked
// before, Check pins all definitions and reports them as StateSame. After an error, because the
// file cannot be read or written or a definition is invalid, none of the definitions may be used.
// Check keeps the definitions, which must not be modified.
func (f *File) Check(s Server, kind mcp.Kind, definitions []json.RawMessage) (Report, error) {
	var c comparison
	err := f.update(func() (err error) {
		c, err = f.compare(&s, kind, definitions)
		if err != nil {
			return err
		}
		if c.isCopy {
			c.contents.Servers[s.key()] = c.server
			if c.report.isSame() { // they are the pins of this source
				delete(c.contents.Servers, s.ID)
			}
			f.changes++
		}
		if !c.report.First {
			return nil
		}
		for i := range c.report.Verdicts {
			c.report.Verdicts[i].State = StateSame
		}
		*c.server.ofKind(kind) = c.entries
		c.contents.Servers[s.key()] = c.server
		f.changes++
		return nil
	})
	return c.report, err
}

// Compare is like [File.Check] but pins nothing. Definitions of a kind that was never checked are
// StateNew. It keeps definitions that are pinned, too, which must not be modified.
func (f *File) Compare(s Server, kind mcp.Kind, definitions []json.RawMessage) (Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.compare(&s, kind, definitions)
	return c.report, err
}

// Pinned returns a pinned definition of a server, of which only ID and Source matter, with the
// identity with which it was pinned. If there is none, the error matches [ErrNotFound].
func (f *File) Pinned(s Server, kind mcp.Kind, name string) (of Server, definition json.RawMessage,
	err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, err := f.read()
	if err != nil {
		return of, nil, err
	}
	sp := content.Servers[s.key()]
	if sp == nil {
		sp = content.Servers[s.ID]
	}
	if sp != nil {
		if e, ok := (*sp.ofKind(kind))[name]; ok {
			s.Name, s.Capabilities = sp.Name, sp.Capabilities
			return s, e.canonical(kind).Definition, nil
		}
	}
	return of, nil, fmt.Errorf("the pin of the %s %.100q of the server %q: %w", kind, name, s.ID,
		ErrNotFound)
}

// A comparison is the report on definitions, with the data from which it was made.
type comparison struct {
	contents     *contents
	server       *serverPins // of the contents, or new
	isNew        bool        // there are no pins of the server
	isCopy       bool        // server is a copy of pins without a source
	capabilities json.RawMessage
	names        []string // in the order of the definitions
	entries      map[string]entry
	report       Report
}

// compare compares definitions with their pins. The caller holds mu.
func (f *File) compare(s *Server, kind mcp.Kind, definitions []json.RawMessage) (c comparison,
	err error) {
	if c.names, c.entries, err = newEntries(kind, definitions); err != nil {
		return c, err
	}
	if c.capabilities, err = s.canonicalCapabilities(); err != nil {
		return c, err
	}
	if c.contents, err = f.read(); err != nil {
		return c, err
	}
	c.server = c.contents.Servers[s.key()]
	if c.server == nil && c.contents.Servers[s.ID] != nil {
		c.server, c.isCopy = c.contents.Servers[s.ID].clone(), true
	}
	if c.server == nil || c.server.Forgotten {
		c.server, c.isNew = &serverPins{Name: s.Name, Capabilities: c.capabilities}, true
	}
	c.report = newReport(c.server, kind, s, c.capabilities, c.names, c.entries)
	c.report.Revision = f.revision
	for i, name := range c.names { // from now on, the definitions are kept once
		e := c.entries[name]
		e.Definition = definitions[i]
		c.entries[name] = e
		if c.report.Verdicts[i].Usable() {
			(*c.server.ofKind(kind))[name] = e
		}
	}
	return c, nil
}

// Accept pins the definitions with the accepted names, or all definitions if no names are given. If
// the identity of the server has changed, its other pins are removed. If the server is unknown, its
// other definitions are StateNew from now on. If no definition has an accepted name, the error
// matches [ErrNotFound] and nothing changes.
func (f *File) Accept(s Server, kind mcp.Kind, definitions []json.RawMessage,
	accepted ...string) error {
	return f.update(func() error { return f.accept(s, kind, definitions, accepted) })
}

// accept changes f.current as [File.Accept] changes the file. The caller holds mu.
func (f *File) accept(s Server, kind mcp.Kind, definitions []json.RawMessage,
	accepted []string) error {
	c, err := f.compare(&s, kind, definitions)
	if err != nil {
		return err
	}
	if len(accepted) == 0 {
		accepted = c.names
	}
	for _, name := range accepted {
		if _, ok := c.entries[name]; !ok {
			return fmt.Errorf("the %s %.100q of the server %q: %w", kind, name, s.ID, ErrNotFound)
		}
	}
	sp := c.server
	if c.isNew || c.report.IdentityChange != "" {
		sp = &serverPins{Name: s.Name, Capabilities: c.capabilities}
		for kind := range Kinds() { // empty, not nil: no kind has a first use any more
			*sp.ofKind(kind) = map[string]entry{}
		}
	}
	entries := maps.Clone(*sp.ofKind(kind))
	if entries == nil {
		entries = map[string]entry{}
	}
	for _, name := range accepted {
		entries[name] = c.entries[name]
	}
	*sp.ofKind(kind) = entries
	c.contents.Servers[s.key()] = sp
	f.revision++
	f.changes++
	return nil
}

// Forget removes the pins with these names, of every kind, or the whole server if no names are
// given, so that its next Check is its first use. Without a Source, it does so for the server of
// that ID of every source. Name and Capabilities do not matter. If a pin or the server does not
// exist, the error matches [ErrNotFound] and nothing changes.
func (f *File) Forget(s Server, names ...string) error {
	return f.update(func() error { return f.forget(&s, names) })
}

// forget changes f.current as [File.Forget] changes the file. The caller holds mu.
func (f *File) forget(s *Server, names []string) error {
	content, err := f.read()
	if err != nil {
		return err
	}
	var keys []string
	for key, sp := range content.Servers {
		if !sp.Forgotten && (key == s.key() || s.Source == "" && keyID(key) == s.ID) {
			keys = append(keys, key)
		}
	}
	old := content.Servers[s.ID] // without a source
	if keys == nil && old != nil && content.Servers[s.key()] == nil {
		content.Servers[s.key()] = old.clone()
		keys = []string{s.key()}
	}
	if keys == nil {
		return fmt.Errorf("pins of the server %q: %w", s.ID, ErrNotFound)
	}
	for _, name := range names {
		has := func(key string) bool { return content.Servers[key].has(name) }
		if !slices.ContainsFunc(keys, has) {
			return fmt.Errorf("the pin %.100q of the server %q: %w", name, s.ID, ErrNotFound)
		}
	}
	for _, key := range keys {
		for kind := range Kinds() {
			for _, name := range names {
				delete(*content.Servers[key].ofKind(kind), name)
			}
		}
		switch {
		case len(names) > 0:
		case s.Source != "" && old != nil:
			content.Servers[key] = &serverPins{Forgotten: true}
		default:
			delete(content.Servers, key)
		}
	}
	f.revision++
	f.changes++
	return nil
}
