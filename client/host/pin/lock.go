package pin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// maxFile is how large a file of pins may be.
const maxFile = 64 << 20

// ErrNotThere matches the error for a tool or server that there is not.
var ErrNotThere = errors.New("there is no such")

// A Lock is a file of pins. Its methods may be called from anywhere at any time; several processes may use the same file, and who writes last has what the others wrote of other servers.
type Lock struct {
	path string
	mu   sync.Mutex
}

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
	in, err := os.Open(l.path)
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
		for name, p := range k.Tools { // who has changed it by hand must not make a pin of something else
			found, made, err := pinTool(p.Definition)
			if err != nil || found != name || made.SHA256 != p.SHA256 {
				return nil, fmt.Errorf("pins: %s: the pin of the tool %.100q of the server %.50q does not fit its definition", l.path, name, id)
			}
			k.Tools[name] = made
		}
		if k.Declared, err = (&Server{Declared: k.Declared}).declared(); err != nil {
			return nil, fmt.Errorf("pins: %s: the server %.50q: %w", l.path, id, err)
		}
	}
	return f, nil
}

// write replaces the file in one step.
func (l *Lock) write(f *file) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	if err := atomicfile.Write(l.path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	return nil
}

// Check compares the tools of a server with their pins. A server that was never seen is pinned, with all of them. The error says that the file cannot be read or written, or that the
// definitions are none: then nothing may be used.
func (l *Lock) Check(s Server, tools []json.RawMessage) (Report, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	names, pins, declared, f, err := l.prepare(&s, tools)
	if err != nil {
		return Report{}, err
	}
	k := f.Servers[s.ID]
	if k != nil {
		return compare(k, &s, declared, names, pins), nil
	}
	f.Servers[s.ID] = &known{s.Name, declared, pins}
	if err := l.write(f); err != nil {
		return Report{}, err
	}
	r := Report{First: true}
	for _, name := range names {
		r.Verdicts = append(r.Verdicts, Verdict{Tool: name, State: First})
	}
	return r, nil
}

// Compare is [Lock.Check] without pinning anything: the tools of a server that was never seen are new.
func (l *Lock) Compare(s Server, tools []json.RawMessage) (Report, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	names, pins, declared, f, err := l.prepare(&s, tools)
	if err != nil {
		return Report{}, err
	}
	k := f.Servers[s.ID]
	if k == nil {
		k = &known{Name: s.Name, Declared: declared}
	}
	return compare(k, &s, declared, names, pins), nil
}

func (l *Lock) prepare(s *Server, tools []json.RawMessage) (names []string, pins map[string]pinned, declared json.RawMessage, f *file, err error) {
	if names, pins, err = pinTools(tools); err == nil {
		if declared, err = s.declared(); err == nil {
			f, err = l.read()
		}
	}
	return names, pins, declared, f, err
}

// Accept pins tools as they are now: those of these names, or all if there are none. A server that has become another has the pins of only these afterwards. The error matches
// [ErrNotThere] if one of them is not among the tools; then nothing has changed.
func (l *Lock) Accept(s Server, tools []json.RawMessage, accepted ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	names, pins, declared, f, err := l.prepare(&s, tools)
	if err != nil {
		return err
	}
	if len(accepted) == 0 {
		accepted = names
	}
	k := f.Servers[s.ID]
	if k == nil || k.Name != s.Name || string(k.Declared) != string(declared) {
		k = &known{Name: s.Name, Declared: declared}
	}
	now := maps.Clone(k.Tools)
	if now == nil {
		now = map[string]pinned{}
	}
	for _, name := range accepted {
		p, ok := pins[name]
		if !ok {
			return fmt.Errorf("%w tool: %.100q of the server %q", ErrNotThere, name, s.ID)
		}
		now[name] = p
	}
	k.Tools = now
	f.Servers[s.ID] = k
	return l.write(f)
}

// Forget takes the pins of a server away: of these tools, or all of it, as if it had never been seen. The error matches [ErrNotThere].
func (l *Lock) Forget(id string, tools ...string) error {
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
	for _, name := range tools {
		if _, ok := k.Tools[name]; !ok {
			return fmt.Errorf("%w tool: %.100q of the server %q", ErrNotThere, name, id)
		}
		delete(k.Tools, name)
	}
	if len(tools) == 0 {
		delete(f.Servers, id)
	}
	return l.write(f)
}
