// Package configfile changes configuration files: those of applications, and stdwire's own.
package configfile

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/appfile"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

const (
	backupSuffix = ".stdwire.bak"
	lockTimeout  = 10 * time.Second // for other processes of stdwire that change a file
)

// A File is a file of servers, which need not exist. The file of a workspace must be within it,
// because its links may be somebody else's; that of a user within the home directory or the
// directory that the path names.
type File struct {
	Env       *config.Environment
	Path      string
	Workspace bool
}

// Preview returns the change that change makes, and writes nothing. change gets the content of the
// file and that of its backup, each nil if there is none.
func (f File) Preview(change func(data, backup []byte) (*appfile.Change, error)) (*appfile.Change,
	error) {
	real, err := f.resolve()
	if err != nil {
		return nil, err
	}
	_, data, backup, err := readBoth(f.Env, real)
	if err != nil {
		return nil, err
	}
	return change(data, backup)
}

// readBoth is read of a file, and of its backup, of which it returns only the content.
func readBoth(env *config.Environment, path string) (info fs.FileInfo, data, backup []byte,
	err error) {
	if info, data, err = read(env, path); err == nil {
		_, backup, err = read(env, path+backupSuffix)
	}
	return info, data, backup, err
}

// Edit changes the file as Preview does. The file is read, changed and replaced while no other
// process of stdwire does the same, and the file as it was is kept as its backup. If another
// program changes it meanwhile, nothing is written.
func (f File) Edit(ctx context.Context,
	change func(data, backup []byte) (*appfile.Change, error)) (*appfile.Change, error) {
	real, err := f.resolve()
	if err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, f.Env)
	if err != nil {
		return nil, err
	}
	defer unlock()
	before, data, backup, err := readBoth(f.Env, real)
	if err != nil {
		return nil, err
	}
	c, err := change(data, backup)
	if err != nil || !c.Changed() {
		return c, err
	}
	if before == nil {
		err = os.MkdirAll(filepath.Dir(real), 0o700)
	} else {
		err = writeBackup(real+backupSuffix, backup != nil, data, before.Mode().Perm())
	}
	if err != nil {
		return nil, err
	}
	now, dataNow, err := read(f.Env, real)
	if err != nil {
		return nil, err
	}
	if (now == nil) != (before == nil) || !bytes.Equal(data, dataNow) {
		return nil, changedMeanwhile(f.Path)
	}
	return c, atomicfile.Write(real, c.After, 0o600) // there may be secrets in it
}

// changedMeanwhile returns the failure for a file that another program has changed.
func changedMeanwhile(path string) error {
	return &command.Failure{Code: "config", Why: path +
		" was changed by another program meanwhile; nothing is written", Hint: "try again"}
}

// writeBackup writes a file with the same mode as the original, because it has the same secrets.
func writeBackup(path string, exists bool, data []byte, mode fs.FileMode) error {
	if exists {
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
	}
	return atomicfile.Write(path, data, mode)
}

// read returns the state and the content of a file, or nil if it does not exist. The file must be a
// regular one, and writable.
func read(env *config.Environment, path string) (fs.FileInfo, []byte, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err == nil && !info.Mode().IsRegular():
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("this is not a regular file")}
	case err == nil && info.Mode().Perm()&0o200 == 0:
		err = &fs.PathError{Op: "write", Path: path, Err: errors.New("the file is read-only")}
	}
	if err != nil {
		return nil, nil, &command.Failure{Code: "config", Why: err.Error()}
	}
	data, err := env.ReadFile(path)
	if err != nil {
		return nil, nil, &command.Failure{Code: "config", Why: err.Error()}
	}
	return info, data, nil
}

// lock waits for other processes that change a file.
func lock(ctx context.Context, env *config.Environment) (unlock func(), err error) {
	path := config.StateFile(env, "install.lock")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout, &command.Failure{Code: "internal",
		Why: "another stdwire install has not ended", Hint: path + " is locked by it"})
	defer cancel()
	return atomicfile.Lock(ctx, path)
}

// resolve returns the path of the file without symbolic links.
func (f File) resolve() (string, error) {
	path, env := f.Path, f.Env
	real, err := withoutLinks(path)
	if err != nil {
		return "", &command.Failure{Code: "config", Why: err.Error()}
	}
	roots := []string{env.Dir}
	if !f.Workspace {
		roots = []string{env.Home, filepath.Dir(path)}
		if rest, err := filepath.Rel(env.Home, path); err == nil && filepath.IsLocal(rest) {
			roots = roots[:1]
		}
	}
	for _, root := range roots {
		if root, err = withoutLinks(root); err != nil {
			return "", err
		}
		if rest, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rest) {
			return real, nil
		}
	}
	return "", &command.Failure{Code: "denied", Why: path + " is reached by a symbolic link to " +
		real + ", outside of " + strings.Join(roots, " and "), Hint: "change that file by hand"}
}

// withoutLinks is [filepath.EvalSymlinks] for a path whose end need not exist.
func withoutLinks(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", &fs.PathError{Op: "read", Path: path,
			Err: errors.New("this is a symbolic link to nothing")}
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	if parent, err = withoutLinks(parent); err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(path)), nil
}
