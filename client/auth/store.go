package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/jsonexact"
)

// A Store keeps credentials from one run of a program to the next, and between programs. It must be safe for concurrent use, and keep others from reading what it has.
type Store interface {
	// Find returns the credentials for an MCP server, at most some; none is no error. With those that it can read, it may return an error about others.
	Find(endpoint string) ([]Credentials, error)
	// Put keeps credentials, in the place of those with the same Key.
	Put(Credentials) error
	// Delete forgets those with a Key; it is no error if there are none.
	Delete(Key) error
	// Lock keeps everybody else who uses the same credentials, in other processes too, from renewing those with a Key, until unlock is called. It waits for
	// them until ctx ends.
	Lock(ctx context.Context, key Key) (unlock func(), err error)
}

// A FileStore is a [Store] in a directory, with a file for each [Key] that nobody but the user may
// read; a file that others may read is not used, and the error says so. Windows has no such
// permissions: a file inherits the access control list of Dir, which keeps other users out if it is
// in the user's profile, such as in %APPDATA%. It is safe for use by several processes: a file is
// replaced in one step. On Windows that waits up to two seconds for programs that have it open.
type FileStore struct {
	// Dir need not be there yet.
	Dir string
}

const (
	maxFiles = 1000     // that are looked at
	maxFile  = 64 << 10 // bytes
)

// Find implements [Store].
func (s FileStore) Find(endpoint string) ([]Credentials, error) {
	all, err := s.All()
	var found []Credentials
	for _, c := range all {
		if c.Endpoint == endpoint {
			found = append(found, c)
		}
	}
	return found, err
}

// All returns everything that is kept. With what can be read, it returns an error about the rest.
func (s FileStore) All() ([]Credentials, error) {
	dir, err := os.Open(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxFiles)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var all []Credentials
	var errs []error
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".json" {
			continue
		}
		c, err := s.read(filepath.Join(s.Dir, entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has been deleted meanwhile
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, *c)
	}
	return all, errors.Join(errs...)
}

func (s FileStore) read(path string) (*Credentials, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: this is no regular file", path)
	case othersHaveAccess(info):
		return nil, fmt.Errorf("%s: others may read it or write to it, so it is not used: log in again, or chmod 600 it if that is yours", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s: it has more than %d bytes", path, maxFile)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	c := new(Credentials)
	if err := jsonexact.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: it is damaged: log in again", path) // the cause might show what is in it
	}
	if err := c.prepare(); err != nil {
		return nil, fmt.Errorf("%s: %w: log in again", path, err)
	}
	if path != s.path(c.Key) {
		return nil, fmt.Errorf("%s: it is not called after what is in it, so it is not used", path)
	}
	return c, nil
}

// othersHaveAccess reports whether the permissions of a file let in others than its owner.
func othersHaveAccess(info fs.FileInfo) bool {
	return atomicfile.Permissions && info.Mode().Perm()&0o077 != 0
}

// path is the file of a key.
func (s FileStore) path(k Key) string {
	text, _ := json.Marshal(k) // strings always encode
	sum := sha256.Sum256(text)
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:16])+".json")
}

// Put implements [Store].
func (s FileStore) Put(c Credentials) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if len(text) > maxFile {
		return fmt.Errorf("credentials of %d bytes are over the limit of %d", len(text), maxFile)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	path := s.path(c.Key)
	if info, err := os.Lstat(path); err == nil && (!info.Mode().IsRegular() || othersHaveAccess(info)) {
		// Or the new one would have its permissions, or be where it leads to.
		if err := atomicfile.Remove(path); err != nil {
			return err
		}
	}
	return atomicfile.Write(path, append(bytes.TrimSpace(text), '\n'), 0o600)
}

// Delete implements [Store].
func (s FileStore) Delete(k Key) error {
	if err := atomicfile.Remove(s.path(k)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Lock implements [Store]. What a process has locked is free when it ends, whatever it ends of. Where the system cannot lock files, it returns at once.
func (s FileStore) Lock(ctx context.Context, k Key) (unlock func(), err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	const every = 20 * time.Millisecond
	path := strings.TrimSuffix(s.path(k), ".json") + ".lock"
	for {
		f, err := lockFile(path)
		switch {
		case err != nil:
			return nil, err
		case f != nil:
			return func() { _ = f.Close() }, nil
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
