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
	"time"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// contents is the content of a [File].
type contents struct {
	Version int                    `json:"version"`
	Servers map[string]*serverPins `json:"servers"` // by [Server.key]
}

// version is the version of the format.
const version = 1

const (
	// MaxFile limits the size of the file in bytes.
	MaxFile = 64 << 20
	// maxKind limits the bytes of one server's definitions of one kind, so that no server can fill
	// the file.
	maxKind = 4 << 20
)

// read returns f.current, after reading the file again unless a change is to be written. The
// content is empty if the file does not exist. The caller holds mu.
func (f *File) read() (_ *contents, err error) {
	if f.current != nil && f.changes > f.written {
		return f.current, nil
	}
	defer func() {
		if err != nil {
			f.revision++
		}
	}()
	in, info, err := userfile.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		if f.current == nil || f.sum != [sha256.Size]byte{} {
			f.revision++
		}
		f.sum, f.info = [sha256.Size]byte{}, nil
		f.current, err = f.parse(nil)
		return f.current, err
	}
	if err != nil {
		return nil, fmt.Errorf("pins: %w", err)
	}
	defer in.Close()
	if f.current != nil && atomicfile.Unchanged(f.info, f.readAt, info) {
		return f.current, nil
	}
	readAt := time.Now()
	if f.current == nil || !f.hasSum(in) {
		if _, err = in.Seek(0, io.SeekStart); err != nil {
			return nil, fmt.Errorf("pins: %w", err)
		}
		text, err := userfile.ReadAll(in, f.path, MaxFile)
		if err != nil {
			return nil, fmt.Errorf("pins: %w", err)
		}
		f.revision++
		if f.current, err = f.parse(text); err != nil {
			return nil, err
		}
		f.sum = sha256.Sum256(text)
	}
	f.info, f.readAt = info, readAt
	return f.current, nil
}

// hasSum reports whether the SHA-256 of the file is f.sum. It takes little memory: after each write
// of a large file, the next check of each server asks.
func (f *File) hasSum(in io.Reader) bool {
	hash := sha256.New()
	_, err := io.Copy(hash, io.LimitReader(in, MaxFile+1))
	return err == nil && [sha256.Size]byte(hash.Sum(nil)) == f.sum
}

// parse returns the content of a file.
func (f *File) parse(text []byte) (*contents, error) {
	content := &contents{Version: version, Servers: map[string]*serverPins{}}
	if len(bytes.TrimSpace(text)) == 0 {
		return content, nil
	}
	if err := json.Unmarshal(text, content); err != nil {
		return nil, fmt.Errorf("pins: %s is not a file of pins: %w", f.path, err)
	}
	if content.Version != version {
		return nil, fmt.Errorf("pins: %s has version %d; this program reads version %d", f.path,
			content.Version, version)
	}
	for id, sp := range content.Servers {
		if sp == nil {
			return nil, fmt.Errorf("pins: %s: the server %.50q is null", f.path, id)
		}
		for kind := range Kinds() {
			if err := sp.verify(kind); err != nil {
				return nil, fmt.Errorf("pins: %s: %w of the server %.50q", f.path, err, id)
			}
		}
		s := Server{Capabilities: sp.Capabilities}
		var err error
		if sp.Capabilities, err = s.canonicalCapabilities(); err != nil {
			return nil, fmt.Errorf("pins: %s: the server %.50q: %w", f.path, id, err)
		}
	}
	return content, nil
}

// update calls change, which may change f.current and then increments f.changes. update returns
// when this change and all earlier ones are in the file.
func (f *File) update(change func() error) error {
	f.mu.Lock()
	err := change()
	last := f.changes
	done := f.written >= last
	f.mu.Unlock()
	if err != nil || done {
		return err
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	content, upTo, err := f.unwritten(last)
	if content == nil || err != nil {
		return err
	}
	sum, err := f.write(content)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.fail(err)
		return err
	}
	f.written, f.sum = upTo, sum
	return nil
}

// unwritten returns a copy of the content to write so that a change is in the file, and the number
// of the last change in it. It returns nil if another call has written the change, and an error if
// the change was lost.
func (f *File) unwritten(change int) (content *contents, upTo int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.lostAfter < change && change <= f.lostTo:
		return nil, 0, f.lostErr
	case f.written >= change:
		return nil, 0, nil
	}
	content = &contents{Version: f.current.Version,
		Servers: make(map[string]*serverPins, len(f.current.Servers))}
	for key, sp := range f.current.Servers {
		content.Servers[key] = sp.clone()
	}
	return content, f.changes, nil
}

// fail drops all changes that are not in the file, with err as the reason. The caller holds mu.
func (f *File) fail(err error) {
	f.lostAfter, f.lostTo, f.lostErr = f.written, f.changes, err
	f.written, f.current = f.changes, nil
}

// write replaces the file atomically, and returns its SHA-256.
func (f *File) write(c *contents) (sum [sha256.Size]byte, err error) {
	hash := sha256.New()
	if err = os.MkdirAll(filepath.Dir(f.path), 0o700); err == nil {
		err = atomicfile.WriteFrom(f.path, 0o600, func(w io.Writer) error {
			return c.writeTo(io.MultiWriter(w, hash))
		})
	}
	switch {
	case errors.Is(err, errFull):
		err = fmt.Errorf(
			"pins: %s would have more than %d bytes: forget servers that are not used any more",
			f.path, MaxFile)
	case err != nil:
		err = fmt.Errorf("pins: %w", err)
	}
	hash.Sum(sum[:0])
	return sum, err
}

// errFull says that a file would be too large.
var errFull = errors.New("too many pins")

// writeTo writes the text of the file, as encoding/json indents it, but one server at a time: a
// file of many servers is written often when a gateway starts for the first time.
func (c *contents) writeTo(w io.Writer) error {
	size := 0
	var text, server bytes.Buffer
	flush := func() error {
		if size += text.Len(); size > MaxFile {
			return errFull
		}
		_, err := text.WriteTo(w)
		return err
	}
	fmt.Fprintf(&text, "{\n  \"version\": %d,\n  \"servers\": {", c.Version)
	for i, key := range slices.Sorted(maps.Keys(c.Servers)) {
		if i > 0 {
			text.WriteByte(',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "\n    %s: ", name)
		server.Reset()
		if err = json.NewEncoder(&server).Encode(c.Servers[key].canonical()); err == nil {
			err = json.Indent(&text, bytes.TrimSuffix(server.Bytes(), []byte{'\n'}), "    ", "  ")
		}
		if err == nil && text.Len() > 64<<10 {
			err = flush()
		}
		if err != nil {
			return err
		}
	}
	if len(c.Servers) > 0 {
		text.WriteString("\n  ")
	}
	text.WriteString("}\n}\n")
	return flush()
}

// verify returns an error if a pin of the kind does not match its definition, because the
// file was edited.
func (sp *serverPins) verify(kind mcp.Kind) error {
	entries := *sp.ofKind(kind)
	for name, e := range entries {
		found, e2, err := newEntry(kind, e.Definition)
		if err != nil || found != name || e2.SHA256 != e.SHA256 {
			return fmt.Errorf("the pin does not match its definition: the %s %.100q", kind, name)
		}
		entries[name] = e2
	}
	return nil
}
