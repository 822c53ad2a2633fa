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

// absent is the state of a file that does not exist, where a hash is the state of one that does.
const absent = "absent"

// A replacement puts new content in the place of a file, all of it or nothing: it goes to a temporary file in the same directory,
// is forced to the disk, and takes over the name in one step. Whoever has the old file open goes on seeing the old content. Other
// hard links to the old file keep it; its permission bits, and its owner where possible, pass to the new one. On Windows the new
// one has the access rights that its directory gives.
//
// The caller has locked the file. Against other programs the state is looked at a second time, right before the step.
type replacement struct {
	dir   *os.Root // the file's directory
	base  string   // the file's name in it
	shown string   // its path, for errors
	want  string   // state that the file must be in: a hash, absent, or "" for any
}

// check looks at the file. old is nil if there is none.
func (p *replacement) check(ctx context.Context) (old fs.FileInfo, err error) {
	old, err = p.dir.Lstat(p.base)
	state := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old, state = nil, absent
	case err != nil:
		return nil, err
	default:
		if err := regular(p.shown, old); err != nil {
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
	return dispatch.Errorf(dispatch.StateError, "%q is not, or no longer, what it was taken for; read it again", p.shown).
		With(map[string]string{"sha256": state})
}

// run replaces the file and reports whether there was none before.
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
	// The directory is forced to the disk too where that can be done. The file is in its place by now, so a failure changes nothing.
	if d, err := p.dir.Open("."); err == nil {
		d.Sync()
		d.Close()
	}
	return old == nil, nil
}

// stage writes data to a new file beside the old one and returns its name.
func (p *replacement) stage(ctx context.Context, data []byte, old fs.FileInfo) (temp string, err error) {
	temp = ".stdwire-" + rand.Text() + ".tmp"
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600 // until it has the old one's
	}
	f, err := p.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, reader{ctx, bytes.NewReader(data)})
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

// discard removes a file, whatever became of the call.
func discard(dir *os.Root, name string) {
	_ = atomicfile.Retry(func() error { return dir.Remove(name) })
}

// renameNew renames a file unless the new name is taken. Where there are hard links that is one
// step; elsewhere, and on Windows, another program could take the name in between.
func renameNew(ctx context.Context, dir *os.Root, from, to string) error {
	info, err := dir.Lstat(from)
	if err != nil {
		return err
	}
	if movesByLink && info.Mode().IsRegular() {
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
