package pin

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// A file is the content of a file of pins.
type file struct {
	Version int                    `json:"version"`
	Servers map[string]*serverPins `json:"servers"` // by server ID
}

// version is the version of the format.
const version = 1

const (
	// maxFile limits the size of the file in bytes.
	maxFile = 64 << 20
	// maxKind limits the bytes of one server's definitions of one kind, so that no server can fill
	// the file.
	maxKind = 4 << 20
)

// read returns l.current, after reading the file again unless a change is to be written. The
// content is empty if the file does not exist. The caller holds mu.
func (l *Lock) read() (*file, error) {
	if l.current != nil && l.changes > l.written {
		return l.current, nil
	}
	in, err := atomicfile.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		l.sum, l.info = [sha256.Size]byte{}, nil
		l.current, err = l.parse(nil)
		return l.current, err
	}
	if err != nil {
		return nil, fmt.Errorf("pins: %w", err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, fmt.Errorf("pins: %w", err)
	}
	if l.current != nil && atomicfile.Unchanged(l.info, l.readAt, info) {
		return l.current, nil
	}
	readAt := time.Now()
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("pins: %w", err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("pins: %s has more than %d bytes", l.path, maxFile)
	}
	sum := sha256.Sum256(text)
	if l.current == nil || l.sum != sum {
		if l.current, err = l.parse(text); err != nil {
			return nil, err
		}
	}
	l.sum, l.info, l.readAt = sum, info, readAt
	return l.current, nil
}

// parse returns the content of a file.
func (l *Lock) parse(text []byte) (*file, error) {
	f := &file{Version: version, Servers: map[string]*serverPins{}}
	if len(bytes.TrimSpace(text)) == 0 {
		return f, nil
	}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("pins: %s is not a file of pins: %w", l.path, err)
	}
	if f.Version != version {
		return nil, fmt.Errorf("pins: %s has version %d; this program reads version %d", l.path,
			f.Version, version)
	}
	for id, sp := range f.Servers {
		if sp == nil {
			return nil, fmt.Errorf("pins: %s: the server %.50q is null", l.path, id)
		}
		for _, kind := range Kinds() {
			if err := sp.verify(kind); err != nil {
				return nil, fmt.Errorf("pins: %s: %w of the server %.50q", l.path, err, id)
			}
		}
		s := Server{Capabilities: sp.Capabilities}
		var err error
		if sp.Capabilities, err = s.canonicalCapabilities(); err != nil {
			return nil, fmt.Errorf("pins: %s: the server %.50q: %w", l.path, id, err)
		}
	}
	return f, nil
}

// update calls change, which may change l.current and then increments l.changes. update returns
// when this change and all earlier ones are in the file.
func (l *Lock) update(change func() error) error {
	l.mu.Lock()
	err := change()
	last := l.changes
	done := l.written >= last
	l.mu.Unlock()
	if err != nil || done {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	text, upTo, err := l.unwritten(last)
	if text == nil || err != nil {
		return err
	}
	err = l.write(text)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.fail(err)
		return err
	}
	l.written, l.sum = upTo, sha256.Sum256(text)
	return nil
}

// unwritten returns the text to write so that a change is in the file, and the number of the last
// change in the text. It returns nil if another call has written the change, and an error if the
// change was lost.
func (l *Lock) unwritten(change int) (text []byte, upTo int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.lostAfter < change && change <= l.lostTo:
		return nil, 0, l.lostErr
	case l.written >= change:
		return nil, 0, nil
	}
	if text, err = json.MarshalIndent(l.current, "", "  "); err != nil {
		err = fmt.Errorf("pins: %w", err)
		l.fail(err)
	}
	return append(text, '\n'), l.changes, err
}

// fail drops all changes that are not in the file, with err as the reason. The caller holds mu.
func (l *Lock) fail(err error) {
	l.lostAfter, l.lostTo, l.lostErr = l.written, l.changes, err
	l.written, l.current = l.changes, nil
}

// write replaces the file atomically.
func (l *Lock) write(text []byte) error {
	if len(text) > maxFile {
		return fmt.Errorf(
			"pins: %s would have more than %d bytes: forget servers that are not used any more",
			l.path, maxFile)
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	if err := atomicfile.Write(l.path, text, 0o600); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	return nil
}

// verify returns an error if a pin of the kind does not match its definition, because the
// file was edited.
func (sp *serverPins) verify(kind Kind) error {
	entries := *sp.ofKind(kind)
	for name, e := range entries {
		found, e2, err := kind.newEntry(e.Definition)
		if err != nil || found != name || e2.SHA256 != e.SHA256 {
			return fmt.Errorf("the pin does not match its definition: the %s %.100q", kind, name)
		}
		entries[name] = e2
	}
	return nil
}
