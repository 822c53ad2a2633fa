package auth

import (
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

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/userfile"
)

// A FileStore is a [Store] in a directory, with one file for each [Key] that only the user can
// read. It does not use files that others can access, and returns an error about them. Windows has
// no such permissions: there a file inherits the access control list of Dir, which excludes other
// users if Dir is in the user's profile, such as %APPDATA%. Several processes may use a FileStore
// at the same time: files are replaced atomically. On Windows, a replacement waits up to 2 s for
// programs that have the file open.
type FileStore struct {
	// Dir is created when it is needed.
	Dir string
}

const (
	maxFiles = 1000     // directory entries that are read
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

// All returns all credentials in the directory. It may return an error together with credentials if
// it could read only some.
func (s FileStore) All() ([]Credentials, error) {
	dir, err := os.Open(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxFiles + 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var all []Credentials
	var errs []error
	if len(entries) > maxFiles {
		entries = entries[:maxFiles]
		errs = append(errs, fmt.Errorf("%s: only %d of its files were read: "+
			"remove those of servers that you no longer use", s.Dir, maxFiles))
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".json" {
			continue
		}
		c, err := s.read(filepath.Join(s.Dir, entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
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
	f, info, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch {
	case userfile.OthersMay(info) != 0:
		return nil, fmt.Errorf("%s: not used because other users can access it: "+
			"log in again, or run chmod 600 if the file is yours", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxFile)
	}
	text, err := userfile.ReadAll(f, path, maxFile)
	if err != nil {
		return nil, err
	}
	c := new(Credentials)
	if err := jsonexact.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: damaged: log in again", path) // the cause could quote a secret
	}
	if err := c.prepare(); err != nil {
		return nil, fmt.Errorf("%s: %w: log in again", path, err)
	}
	if path != s.path(c.Key) {
		return nil, fmt.Errorf("%s: not used because its name does not match its content", path)
	}
	return c, nil
}

// path returns the file name for a key.
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
	text = append(text, '\n')
	if len(text) > maxFile {
		return fmt.Errorf("credentials of %d bytes are over the limit of %d", len(text), maxFile)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	path := s.path(c.Key)
	if info, err := os.Lstat(path); err == nil &&
		(!info.Mode().IsRegular() || userfile.OthersMay(info) != 0) {
		// A replacement would inherit its permissions, or follow a link.
		if err := atomicfile.Remove(path); err != nil {
			return err
		}
	}
	return atomicfile.Write(path, text, 0o600)
}

// Delete implements [Store].
func (s FileStore) Delete(k Key) error {
	if err := atomicfile.Remove(s.path(k)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Lock implements [Store]. The system releases a process's locks when it ends. Where the system has
// no supported file locks, Lock returns at once.
func (s FileStore) Lock(ctx context.Context, k Key) (unlock func(), err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	return atomicfile.Lock(ctx, strings.TrimSuffix(s.path(k), ".json")+".lock")
}
