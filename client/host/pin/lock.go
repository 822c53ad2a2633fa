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
	for id, k := range f.Servers {
		if k == nil {
			return nil, fmt.Errorf("pins: %s: nothing is known of the server %.50q", l.path, id)
		}
		for _, kind := range Kinds() {
			if err := k.verify(kind); err != nil {
				return nil, fmt.Errorf("pins: %s: %w of the server %.50q", l.path, err, id)
			}
		}
		declared := Server{Capabilities: k.Capabilities}
		if k.Capabilities, err = declared.canonicalCapabilities(); err != nil {
			return nil, fmt.Errorf("pins: %s: the server %.50q: %w", l.path, id, err)
		}
	}
	l.lastSum, l.lastRead = sum, f
	return f, nil
}

// verify checks the pins of a kind: whoever has changed the file by hand must not make a pin of
// something else.
func (k *serverPins) verify(kind Kind) error {
	pins := *k.ofKind(kind)
	for name, p := range pins {
		found, made, err := kind.newEntry(p.Definition)
		if err != nil || found != name || made.SHA256 != p.SHA256 {
			return fmt.Errorf("the pin does not fit its definition: the %s %.100q", kind, name)
		}
		pins[name] = made
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
	n, err := l.compare(&s, kind, definitions)
	if err != nil || !n.report.First {
		return n.report, err
	}
	for i := range n.report.Verdicts {
		n.report.Verdicts[i].State = First
	}
	*n.server.ofKind(kind) = n.entries
	n.file.Servers[s.ID] = n.server
	return n.report, l.write(n.file)
}

// Compare is like [Lock.Check] but pins nothing: definitions of a kind that was never checked are
// New.
func (l *Lock) Compare(s Server, kind Kind, definitions []json.RawMessage) (Report, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.compare(&s, kind, definitions)
	return n.report, err
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

func (l *Lock) compare(s *Server, kind Kind, definitions []json.RawMessage) (n comparison,
	err error) {
	if n.names, n.entries, err = kind.newEntries(definitions); err != nil {
		return n, err
	}
	if n.capabilities, err = s.canonicalCapabilities(); err != nil {
		return n, err
	}
	if n.file, err = l.read(); err != nil {
		return n, err
	}
	if n.server = n.file.Servers[s.ID]; n.server == nil {
		n.server = &serverPins{Name: s.Name, Capabilities: n.capabilities}
	}
	n.report = newReport(n.server, kind, s, n.capabilities, n.names, n.entries)
	return n, nil
}

// Accept pins the current definitions with the accepted names, or all of them if no names are
// given. If the server is unknown or its identity has changed, its other pins are dropped. If a
// name is not among the definitions, the error matches [ErrNotFound] and nothing changes.
func (l *Lock) Accept(s Server, kind Kind, definitions []json.RawMessage,
	accepted ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.compare(&s, kind, definitions)
	if err != nil {
		return err
	}
	if len(accepted) == 0 {
		accepted = n.names
	}
	for _, name := range accepted {
		if _, ok := n.entries[name]; !ok {
			return fmt.Errorf("%w %s: %.100q of the server %q", ErrNotFound, kind, name, s.ID)
		}
	}
	k := n.server
	if n.file.Servers[s.ID] == nil || n.report.IdentityChange != "" {
		k = &serverPins{Name: s.Name, Capabilities: n.capabilities}
		for _, kind := range Kinds() { // none is of first use any more
			*k.ofKind(kind) = map[string]entry{}
		}
	}
	pins := maps.Clone(*k.ofKind(kind))
	if pins == nil {
		pins = map[string]entry{}
	}
	for _, name := range accepted {
		pins[name] = n.entries[name]
	}
	*k.ofKind(kind) = pins
	n.file.Servers[s.ID] = k
	return l.write(n.file)
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
	k := f.Servers[id]
	if k == nil {
		return fmt.Errorf("%w server: %q", ErrNotFound, id)
	}
	for _, name := range names {
		if !k.has(name) {
			return fmt.Errorf("%w pin: %.100q of the server %q", ErrNotFound, name, id)
		}
	}
	for _, kind := range Kinds() {
		for _, name := range names {
			delete(*k.ofKind(kind), name)
		}
	}
	if len(names) == 0 {
		delete(f.Servers, id)
	}
	return l.write(f)
}

// has reports whether something of that name is pinned.
func (k *serverPins) has(name string) bool {
	return slices.ContainsFunc(Kinds(), func(kind Kind) bool {
		_, ok := (*k.ofKind(kind))[name]
		return ok
	})
}
