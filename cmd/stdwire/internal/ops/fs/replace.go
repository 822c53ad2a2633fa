package fs

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

// absent is the state of a file that does not exist. The state of an existing file is its hash.
const absent = "absent"

// A replacement replaces the content of a file atomically: it writes a temporary file in the same
// directory, flushes it to disk, and renames it. Programs that have the old file open still see the
// old content, and so do other hard links. The new file gets the permission bits of the old one,
// and its owner where possible; on Windows it gets the access rights of its directory.
//
// The caller holds the lock of the file. Because other programs do not, the state is checked again
// right before the rename.
type replacement struct {
	dir   *os.Root // the file's directory
	base  string   // the file's name in dir
	shown string   // its path, for errors
	want  string   // required state: a hash, absent, or "" for any
}

// check checks the state of the file. old is nil if it does not exist.
func (p *replacement) check(ctx context.Context) (old fs.FileInfo, err error) {
	old, err = p.dir.Lstat(p.base)
	state := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old, state = nil, absent
	case err != nil:
		return nil, err
	default:
		if err := checkRegular(p.shown, old.Mode()); err != nil {
			return nil, err
		}
		if p.want != "" {
			if state, err = hashFile(ctx, p.dir, p.base, p.shown); err != nil {
				return nil, err
			}
		}
	}
	if p.want != "" && !strings.EqualFold(p.want, state) {
		return nil, p.mismatch(state)
	}
	if old != nil && old.Mode().Perm()&0o222 == 0 {
		return nil, markedReadOnly(p.shown)
	}
	return old, nil
}

func markedReadOnly(shown string) error {
	return dispatch.Errorf(dispatch.PermissionDenied, "%q is marked read-only", shown)
}

func (p *replacement) mismatch(state string) error {
	return dispatch.Errorf(dispatch.StateError,
		"%q has changed, or is not what was expected; read it again", p.shown).
		With(map[string]string{"sha256": state})
}

// run replaces the file and reports whether it created it.
func (p *replacement) run(ctx context.Context, data []byte) (created bool, err error) {
	old, err := p.check(ctx)
	if err != nil {
		return false, err
	}
	temp, err := p.stage(ctx, data, old)
	if err != nil {
		return false, err
	}
	if p.want != "" {
		_, err = p.check(ctx)
	}
	if err == nil {
		if p.want == absent {
			err = renameNew(ctx, p.dir, temp, p.base)
		} else {
			err = retry(ctx, func() error { return p.dir.Rename(temp, p.base) })
		}
	}
	if err != nil {
		discard(p.dir, temp)
		return false, err
	}
	// Flush the directory as well, where possible. The file is replaced, so a failure is ignored.
	if d, err := p.dir.Open("."); err == nil {
		d.Sync()
		d.Close()
	}
	return old == nil, nil
}

// stage writes data to a temporary file and returns its name.
func (p *replacement) stage(ctx context.Context, data []byte, old fs.FileInfo) (temp string,
	err error) {
	temp = ".stdwire-" + rand.Text() + ".tmp"
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600 // until it gets the old file's
	}
	f, err := p.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, contextReader{ctx, bytes.NewReader(data)})
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
		discard(p.dir, temp)
		return "", err
	}
	return temp, nil
}

// discard removes a file, even if the call is cancelled.
func discard(dir *os.Root, name string) {
	_ = atomicfile.Retry(func() error { return dir.Remove(name) })
}

// renameNew renames a file unless the new name exists. It is atomic where there are hard links;
// elsewhere, and on Windows, another program can create the name in between.
func renameNew(ctx context.Context, dir *os.Root, from, to string) error {
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
			if err = retry(ctx, func() error { return dir.Remove(from) }); err != nil {
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
	return retry(ctx, func() error { return dir.Rename(from, to) })
}
