// Package replace replaces the content of files atomically.
package replace

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/rootdir"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

// absent is the state of a file that does not exist. The state of an existing file is its hash.
const absent = "absent"

// A Replacement replaces the content of a file atomically: it writes a temporary file in the same
// directory, flushes it to disk, and renames it. Programs that have the old file open still see the
// old content, and so do other hard links. The new file gets the permission bits of the old one,
// and its owner where possible; on Windows it gets the access rights of its directory.
//
// The caller holds the lock of the file. Because other programs do not, the state is checked again
// right before the rename.
type Replacement struct {
	Dir   *os.Root // the file's directory
	Base  string   // the file's name in dir
	Shown string   // its path, for errors
	Want  string   // required state: a hash, absent, or "" for any
}

// Check checks the state of the file. old is nil if it does not exist.
func (p *Replacement) Check(ctx context.Context) (old fs.FileInfo, err error) {
	old, err = p.Dir.Lstat(p.Base)
	state := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old, state = nil, absent
	case err != nil:
		return nil, err
	default:
		if err := rootdir.CheckRegular(p.Shown, old.Mode()); err != nil {
			return nil, err
		}
		if p.Want != "" {
			if state, err = hashFile(ctx, p.Dir, p.Base, p.Shown); err != nil {
				return nil, err
			}
		}
	}
	if p.Want != "" && !strings.EqualFold(p.Want, state) {
		return nil, p.Mismatch(state)
	}
	if old != nil && old.Mode().Perm()&0o222 == 0 {
		return nil, MarkedReadOnly(p.Shown)
	}
	return old, nil
}

func MarkedReadOnly(shown string) error {
	return dispatch.Errorf(dispatch.PermissionDenied, "%q is marked read-only", shown)
}

func (p *Replacement) Mismatch(state string) error {
	return dispatch.Errorf(dispatch.StateError,
		"%q has changed, or is not what was expected; read it again", p.Shown).
		With(map[string]string{"sha256": state})
}

// Do replaces the file and reports whether it created it.
func (p *Replacement) Do(ctx context.Context, data []byte) (created bool, err error) {
	old, err := p.Check(ctx)
	if err != nil {
		return false, err
	}
	temp, err := p.stage(ctx, data, old)
	if err != nil {
		return false, err
	}
	if p.Want != "" {
		_, err = p.Check(ctx)
	}
	if err == nil {
		if p.Want == absent {
			err = RenameNew(ctx, p.Dir, temp, p.Base)
		} else {
			err = Retry(ctx, func() error { return p.Dir.Rename(temp, p.Base) })
		}
	}
	if err != nil {
		discard(p.Dir, temp)
		return false, err
	}
	// Flush the directory as well, where possible. The file is replaced, so a failure is ignored.
	if d, err := p.Dir.Open("."); err == nil {
		d.Sync()
		d.Close()
	}
	return old == nil, nil
}

// stage writes data to a temporary file and returns its name.
func (p *Replacement) stage(ctx context.Context, data []byte, old fs.FileInfo) (temp string,
	err error) {
	temp = ".stdwire-" + rand.Text() + ".tmp"
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600 // until it gets the old file's
	}
	f, err := p.Dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, rootdir.WithContext(ctx, bytes.NewReader(data)))
	if err == nil && old != nil {
		keepOwner(f, old)
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		discard(p.Dir, temp)
		return "", err
	}
	return temp, nil
}

// discard removes a file, even if the call is cancelled.
func discard(dir *os.Root, name string) {
	_ = atomicfile.Retry(func() error { return dir.Remove(name) })
}

// RenameNew renames a file unless the new name exists. It is atomic where there are hard links;
// elsewhere, and on Windows, another program can create the name in between.
func RenameNew(ctx context.Context, dir *os.Root, from, to string) error {
	info, err := dir.Lstat(from)
	if err != nil {
		return err
	}
	if moveByLink && info.Mode().IsRegular() {
		err := dir.Link(from, to)
		if errors.Is(err, fs.ErrExist) {
			return err
		}
		if err == nil {
			if err = Retry(ctx, func() error { return dir.Remove(from) }); err != nil {
				discard(dir, to)
			}
			return err
		}
	}
	if _, err := dir.Lstat(to); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return Retry(ctx, func() error { return dir.Rename(from, to) })
}
