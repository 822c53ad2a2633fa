// Package atomicfile replaces files in one step.
//
// On Unix, the permissions of a file keep other users out. On Windows they mean nothing: a file
// inherits the access control list of its directory, and in a user's own profile (%APPDATA%,
// %LOCALAPPDATA%) that lets in the user, the administrators and the system.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts new content in the place of a file, all of it or nothing, and forces it to the disk:
// whoever reads sees the old or the new. A file that is there keeps its permissions, and a symbolic
// link still leads to it; a new one gets mode. The content is in a file beside it for a moment,
// which nobody else can read. See [Retry] for files that are open on Windows.
func Write(path string, data []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return &fs.PathError{Op: "write", Path: path, Err: errors.New("this is no regular file")}
		}
		mode = info.Mode().Perm()
	}
	temp := filepath.Join(filepath.Dir(path), ".stdwire-"+rand.Text()+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = Rename(temp, path)
	}
	if err != nil {
		_ = Remove(temp)
	}
	return err
}
