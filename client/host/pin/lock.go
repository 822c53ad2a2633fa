package pin

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

const (
	// maxFile is how large a file of pins may be.
	maxFile = 64 << 20
	// maxKind is how large the definitions may be that one server has of one kind: no server is to
	// fill the file.
	maxKind = 4 << 20
)

// ErrNotFound matches the error for a tool, prompt, resource, template or server that does not
// exist.
var ErrNotFound = errors.New("there is no such")

// A Lock is a file of pins. Its methods are safe for concurrent use. Several processes may use the
// same file; each write keeps what the others wrote about other servers.
type Lock struct {
	path string
	mu   sync.Mutex
	// lastSum and last are the file as it was read last: to read it again takes long if it is
	// large.
	lastSum  [sha256.Size]byte
	lastRead *file
}

// Path returns the name of the file.
func (l *Lock) Path() string { return l.path }

// file is what a file of pins has in it.
type file struct {
	Version int                    `json:"version"`
	Servers map[string]*serverPins `json:"servers"`
}

const version = 1

// Open returns the pins in a file. The file need not exist: it is created, readable by its owner
// only, when the first definition is pinned. Open fails, and leaves the file alone, if the file
// cannot be read or is not a file of pins.
func Open(path string) (*Lock, error) {
	l := &Lock{path: path}
	_, err := l.read()
	return l, err
}

func (l *Lock) read() (*file, error) {
	f := &file{Version: version, Servers: map[string]*serverPins{}}
	in, err := atomicfile.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, fmt.Errorf("pins: %w", err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("pins: %w", err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("pins: %s is larger than %d bytes", l.path, maxFile)
	case len(bytes.TrimSpace(text)) == 0:
		return f, nil
	}
	sum := sha256.Sum256(text)
	if l.lastRead != nil && l.lastSum == sum {
		return l.lastRead, nil
	}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("pins: %s is no file of pins: %w", l.path, err)
	}
	if f.Version != version {
		return nil, fmt.Errorf("pins: %s is of version %d; this program knows %d", l.path,
			f.Version, version)
	}
	for id, sp := range f.Servers {
		if sp == nil {
			return nil, fmt.Errorf("pins: %s: nothing is known of the server %.50q", l.path, id)
		}
		for _, kind := range Kinds() {
			if err := sp.verify(kind); err != nil {
				return nil, fmt.Errorf("pins: %s: %w of the server %.50q", l.path, err, id)
			}
		}
		s := Server{Capabilities: sp.Capabilities}
		if sp.Capabilities, err = s.canonicalCapabilities(); err != nil {
			return nil, fmt.Errorf("pins: %s: the server %.50q: %w", l.path, id, err)
		}
	}
	l.lastSum, l.lastRead = sum, f
	return f, nil
}

// verify checks the pins of a kind: whoever has changed the file by hand must not make a pin of
// something else.
func (sp *serverPins) verify(kind Kind) error {
	entries := *sp.ofKind(kind)
	for name, e := range entries {
		found, e2, err := kind.newEntry(e.Definition)
		if err != nil || found != name || e2.SHA256 != e.SHA256 {
			return fmt.Errorf("the pin does not fit its definition: the %s %.100q", kind, name)
		}
		entries[name] = e2
	}
	return nil
}

// write replaces the file in one step.
func (l *Lock) write(f *file) error {
	l.lastRead = nil // f is not what is in the file, until it is read again
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	if len(text) >= maxFile {
		return fmt.Errorf(
			"pins: %s would be larger than %d bytes: forget servers that are not used any more",
			l.path, maxFile)
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	if err := atomicfile.Write(l.path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	return nil
}

// Check compares a server's definitions of one kind with their pins. Definitions of a kind that was
// never checked are pinned, all of them. If it returns an error, because the file cannot be read or
// written or a definition is invalid, none of the definitions may be used.
func (l *Lock) Check(s Server, kind Kind, definitions []json.RawMessage) (Report, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.compare(&s, kind, definitions)
	if err != nil || !c.report.First {
		return c.report, err
	}
	for i := range c.report.Verdicts {
		c.report.Verdicts[i].State = First
	}
	*c.server.ofKind(kind) = c.entries
	c.file.Servers[s.ID] = c.server
	return c.report, l.write(c.file)
}

// Compare is like [Lock.Check] but pins nothing: definitions of a kind that was never checked are
// New.
func (l *Lock) Compare(s Server, kind Kind, definitions []json.RawMessage) (Report, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.compare(&s, kind, definitions)
	return c.report, err
}

// A now is what a server has of a kind, beside what is known of it. The file and known are those of
// last.
type comparison struct {
	file         *file
	server       *serverPins // one without pins for a server that was never seen
	capabilities json.RawMessage
	names        []string // in the order of the definitions
	entries      map[string]entry
	report       Report
}

func (l *Lock) compare(s *Server, kind Kind, definitions []json.RawMessage) (c comparison,
	err error) {
	if c.names, c.entries, err = kind.newEntries(definitions); err != nil {
		return c, err
	}
	if c.capabilities, err = s.canonicalCapabilities(); err != nil {
		return c, err
	}
	if c.file, err = l.read(); err != nil {
		return c, err
	}
	if c.server = c.file.Servers[s.ID]; c.server == nil {
		c.server = &serverPins{Name: s.Name, Capabilities: c.capabilities}
	}
	c.report = newReport(c.server, kind, s, c.capabilities, c.names, c.entries)
	return c, nil
}

// Accept pins the current definitions with the accepted names, or all of them if no names are
// given. If the server is unknown or its identity has changed, its other pins are dropped. If a
// name is not among the definitions, the error matches [ErrNotFound] and nothing changes.
func (l *Lock) Accept(s Server, kind Kind, definitions []json.RawMessage,
	accepted ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.compare(&s, kind, definitions)
	if err != nil {
		return err
	}
	if len(accepted) == 0 {
		accepted = c.names
	}
	for _, name := range accepted {
		if _, ok := c.entries[name]; !ok {
			return fmt.Errorf("%w %s: %.100q of the server %q", ErrNotFound, kind, name, s.ID)
		}
	}
	sp := c.server
	if c.file.Servers[s.ID] == nil || c.report.IdentityChange != "" {
		sp = &serverPins{Name: s.Name, Capabilities: c.capabilities}
		for _, kind := range Kinds() { // none is of first use any more
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
	c.file.Servers[s.ID] = sp
	return l.write(c.file)
}

// Forget removes the pins with these names, of every kind, or the whole server if no names are
// given, as if it had never been seen. If one does not exist, the error matches [ErrNotFound] and
// nothing changes.
func (l *Lock) Forget(id string, names ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.read()
	if err != nil {
		return err
	}
	sp := f.Servers[id]
	if sp == nil {
		return fmt.Errorf("%w server: %q", ErrNotFound, id)
	}
	for _, name := range names {
		if !sp.has(name) {
			return fmt.Errorf("%w pin: %.100q of the server %q", ErrNotFound, name, id)
		}
	}
	for _, kind := range Kinds() {
		for _, name := range names {
			delete(*sp.ofKind(kind), name)
		}
	}
	if len(names) == 0 {
		delete(f.Servers, id)
	}
	return l.write(f)
}

// has reports whether something of that name is pinned.
func (sp *serverPins) has(name string) bool {
	return slices.ContainsFunc(Kinds(), func(kind Kind) bool {
		_, ok := (*sp.ofKind(kind))[name]
		return ok
	})
}
