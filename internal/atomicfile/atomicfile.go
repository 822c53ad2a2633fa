// Package atomicfile replaces files in one step.
//
// On Unix, the permissions of a file keep other users out. On Windows they have no effect: a file
// inherits the access control list of its directory. In a user's own profile (%APPDATA%,
// %LOCALAPPDATA%), that list admits the user, the administrators and the system.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the content of a file atomically and flushes it to disk: readers see the old
// content or the new. An existing file keeps its permissions, and a symbolic link to it stays; a
// new file gets mode. The content is first written to a temporary file in the same directory, which
// other users cannot read. See [Retry] for files that are open on Windows.
func Write(path string, data []byte, mode fs.FileMode) error {
	return WriteFrom(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteFrom is [Write] for a content that a function writes. After an error of the function, which
// WriteFrom returns, the file is as before.
func WriteFrom(path string, mode fs.FileMode, content func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return &fs.PathError{Op: "write", Path: path,
				Err: errors.New("this is not a regular file")}
		}
		mode = info.Mode().Perm()
	}
	temp := filepath.Join(filepath.Dir(path), ".stdwire-"+rand.Text()+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = content(f)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = Rename(temp, path)
	}
	if err != nil {
		_ = Remove(temp)
	}
	return err
}
