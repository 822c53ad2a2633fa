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

// ErrNotThere matches the error for a tool, prompt, resource, template or server that there is not.
var ErrNotThere = errors.New("there is no such")

// A Lock is a file of pins. Its methods may be called from anywhere at any time; several processes may use the same file, and who writes last has what the others wrote of other servers.
type Lock struct {
	path string
	mu   sync.Mutex
	// sum and last are the file as it was read last: to read it again takes long if it is large.
	sum  [sha256.Size]byte
	last *file
}

// Path returns the name of the file.
func (l *Lock) Path() string { return l.path }

// file is what a file of pins has in it.
type file struct {
	Version int               `json:"version"`
	Servers map[string]*known `json:"servers"`
}

const version = 1

// Open returns the pins of a file, which need not be there yet: it is made, only to be read by its owner, when there is something to be pinned. The error says that the file cannot be
// read, or is not one of these; it is then left alone.
func Open(path string) (*Lock, error) {
	l := &Lock{path: path}
	_, err := l.read()
	return l, err
}

func (l *Lock) read() (*file, error) {
	f := &file{Version: version, Servers: map[string]*known{}}
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
	if l.last != nil && l.sum == sum {
		return l.last, nil
	}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("pins: %s is no file of pins: %w", l.path, err)
	}
	if f.Version != version {
		return nil, fmt.Errorf("pins: %s is of version %d; this program knows %d", l.path, f.Version, version)
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
		if k.Declared, err = (&Server{Declared: k.Declared}).declared(); err != nil {
			return nil, fmt.Errorf("pins: %s: the server %.50q: %w", l.path, id, err)
		}
	}
	l.sum, l.last = sum, f
	return f, nil
}

// verify checks the pins of a kind: whoever has changed the file by hand must not make a pin of
// something else.
func (k *known) verify(kind Kind) error {
	pins := *k.of(kind)
	for name, p := range pins {
		found, made, err := kind.pin(p.Definition)
		if err != nil || found != name || made.SHA256 != p.SHA256 {
			return fmt.Errorf("the pin does not fit its definition: the %s %.100q", kind, name)
		}
		pins[name] = made
	}
	return nil
}

// write replaces the file in one step.
func (l *Lock) write(f *file) error {
	l.last = nil // f is not what is in the file, until it is read again
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	if len(text) >= maxFile {
		return fmt.Errorf("pins: %s would be larger than %d bytes: forget servers that are not used any more", l.path, maxFile)
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	if err := atomicfile.Write(l.path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	return nil
}

// Check compares what a server has of a kind with its pins. What was never looked at is pinned,
// with all of it. The error says that the file cannot be read or written, or that the definitions
// are none: then nothing may be used.
func (l *Lock) Check(s Server, kind Kind, definitions []json.RawMessage) (Report, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.look(&s, kind, definitions)
	if err != nil || !n.report.First {
		return n.report, err
	}
	for i := range n.report.Verdicts {
		n.report.Verdicts[i].State = First
	}
	*n.known.of(kind) = n.pins
	n.file.Servers[s.ID] = n.known
	return n.report, l.write(n.file)
}

// Compare is [Lock.Check] without pinning anything: what was never looked at is new.
func (l *Lock) Compare(s Server, kind Kind, definitions []json.RawMessage) (Report, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.look(&s, kind, definitions)
	return n.report, err
}

// A now is what a server has of a kind, beside what is known of it. The file and known are those of
// last.
type now struct {
	file     *file
	known    *known // one without pins for a server that was never seen
	declared json.RawMessage
	names    []string // in the order of the definitions
	pins     map[string]pinned
	report   Report
}

func (l *Lock) look(s *Server, kind Kind, definitions []json.RawMessage) (n now, err error) {
	if n.names, n.pins, err = kind.pins(definitions); err != nil {
		return n, err
	}
	if n.declared, err = s.declared(); err != nil {
		return n, err
	}
	if n.file, err = l.read(); err != nil {
		return n, err
	}
	if n.known = n.file.Servers[s.ID]; n.known == nil {
		n.known = &known{Name: s.Name, Declared: n.declared}
	}
	n.report = compare(n.known, kind, s, n.declared, n.names, n.pins)
	return n, nil
}

// Accept pins what a server has of a kind as it is now: those of these names, or all if there are
// none. A server that has become another, or was never seen, has the pins of only these afterwards.
// The error matches [ErrNotThere] if one of them is not among the definitions; then nothing has
// changed.
func (l *Lock) Accept(s Server, kind Kind, definitions []json.RawMessage, accepted ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.look(&s, kind, definitions)
	if err != nil {
		return err
	}
	if len(accepted) == 0 {
		accepted = n.names
	}
	for _, name := range accepted {
		if _, ok := n.pins[name]; !ok {
			return fmt.Errorf("%w %s: %.100q of the server %q", ErrNotThere, kind, name, s.ID)
		}
	}
	k := n.known
	if n.file.Servers[s.ID] == nil || n.report.Another != "" {
		k = &known{Name: s.Name, Declared: n.declared}
		for _, kind := range Kinds() { // none is of first use any more
			*k.of(kind) = map[string]pinned{}
		}
	}
	pins := maps.Clone(*k.of(kind))
	if pins == nil {
		pins = map[string]pinned{}
	}
	for _, name := range accepted {
		pins[name] = n.pins[name]
	}
	*k.of(kind) = pins
	n.file.Servers[s.ID] = k
	return l.write(n.file)
}

// Forget takes the pins of a server away: those of these names, of every kind, or all of it, as if
// it had never been seen. The error matches [ErrNotThere]; then nothing has changed.
func (l *Lock) Forget(id string, names ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.read()
	if err != nil {
		return err
	}
	k := f.Servers[id]
	if k == nil {
		return fmt.Errorf("%w server: %q", ErrNotThere, id)
	}
	for _, name := range names {
		if !k.has(name) {
			return fmt.Errorf("%w pin: %.100q of the server %q", ErrNotThere, name, id)
		}
	}
	for _, kind := range Kinds() {
		for _, name := range names {
			delete(*k.of(kind), name)
		}
	}
	if len(names) == 0 {
		delete(f.Servers, id)
	}
	return l.write(f)
}

// has reports whether something of that name is pinned.
func (k *known) has(name string) bool {
	return slices.ContainsFunc(Kinds(), func(kind Kind) bool {
		_, ok := (*k.of(kind))[name]
		return ok
	})
}
