// Package auditfile is the file of an audit log, which other programs may move and other processes
// may write, and the key of its digests.
package auditfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// A File is the file of the audit log. When another program has moved or removed the file,
// the next lines go to a new one. With a limit it also renames a full file itself: FILE becomes
// FILE.1, FILE.1 becomes FILE.2, and so on.
//
// Several processes may append to the same file. With a limit, one at a time writes and renames: it
// locks FILE.lock. Each finds out before a write that another has renamed the file.
type File struct {
	path  string // absolute, so that reopening finds the same file
	limit int64  // bytes of a file; 0 means none
	keep  int    // number of renamed files
	log   *slog.Logger
	// lockTimeout is how long a write waits for those of other processes. After it, lines go to the
	// current file, which is not renamed, so that a process that hangs costs no line.
	lockTimeout time.Duration

	mu      sync.Mutex
	f       *os.File
	moved   bool // reopened since the last call of Rotated
	failing bool // the last attempt to reopen or rename failed, which is logged
}

// Open opens the file, which it creates if needed. limit and keep are for a regular file.
func Open(path string, limit int64, keep int, log *slog.Logger) (*File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	a := &File{path: path, limit: limit, keep: keep, log: log,
		lockTimeout: 5 * time.Second}
	if a.f, err = a.open(); err != nil {
		return nil, err
	}
	if info, err := a.f.Stat(); limit > 0 && (err != nil || !info.Mode().IsRegular()) {
		_ = a.f.Close()
		return nil, fmt.Errorf("%s is not a regular file, and its size cannot be limited", path)
	}
	return a, nil
}

func (a *File) open() (*os.File, error) { return atomicfile.OpenAppend(a.path, 0o600) }

// Write appends whole lines and flushes them to disk: the gateway calls it on a goroutine of its
// own, and passes all the lines that have come in meanwhile.
func (a *File) Write(lines []byte) (written int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	limited := a.limit > 0
	if limited {
		unlock, err := a.lock()
		if err == nil {
			defer unlock()
		} else {
			a.report(err)
			limited = false
		}
	}
	if a.isMoved() {
		a.report(a.reopen())
	}
	for len(lines) > 0 {
		fits := len(lines)
		if limited {
			if fits = a.room(lines); fits == 0 {
				if err := a.sync(); err != nil { // rename closes the file
					return written, err
				}
				a.report(a.rename())
				// If it could not be renamed, a file that is too large loses nothing.
				fits = max(a.room(lines), 1+bytes.IndexByte(lines, '\n'))
			}
		}
		n, err := a.f.Write(lines[:fits])
		if written += n; err != nil {
			return written, err
		}
		lines = lines[fits:]
	}
	return written, a.sync()
}

// lock waits until no other process writes or renames the file.
func (a *File) lock() (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), a.lockTimeout,
		fmt.Errorf("another process has locked %s.lock for %v", a.path, a.lockTimeout))
	defer cancel()
	return atomicfile.Lock(ctx, a.path+".lock")
}

// room returns how many bytes of lines, in whole lines, fit into the current file. A line that is
// larger than the limit fits into an empty file.
func (a *File) room(lines []byte) int {
	info, err := a.f.Stat()
	if err != nil {
		return len(lines)
	}
	free := a.limit - info.Size()
	switch {
	case int64(len(lines)) <= free:
		return len(lines)
	case free > 0:
		if n := 1 + bytes.LastIndexByte(lines[:free], '\n'); n > 0 || info.Size() > 0 {
			return n
		}
		return 1 + bytes.IndexByte(lines, '\n')
	}
	return 0
}

// rename moves the file out of the way of a new one, and renamed files up to the first number that
// is free, so that a rename that failed in between moves none of them twice. Other processes do
// not rename meanwhile; one that rotates logs may have moved the file.
func (a *File) rename() error {
	if a.isMoved() {
		return a.reopen()
	}
	free := 1
	for free < a.keep {
		if _, err := os.Lstat(a.name(free)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		free++
	}
	for i := free - 1; i >= 0; i-- {
		err := atomicfile.Rename(a.name(i), a.name(i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return a.reopen()
}

// name returns the name of the file that was renamed i times.
func (a *File) name(i int) string {
	if i == 0 {
		return a.path
	}
	return fmt.Sprintf("%s.%d", a.path, i)
}

// reopen writes later lines to the file that has the path now, which it creates if needed. On an
// error it keeps the current file.
func (a *File) reopen() error {
	if info, err := os.Stat(a.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file any more", a.path) // opening it may block
	}
	f, err := a.open()
	if err != nil {
		return err
	}
	_ = a.f.Close() // Write has flushed it
	a.f = f
	return nil
}

// report logs an error once, until there is none.
func (a *File) report(err error) {
	if err != nil && !a.failing {
		a.log.Warn("the audit log cannot be reopened; it continues in the current file",
			slog.Any("error", err))
	}
	a.failing = err != nil
}

// sync flushes the file to disk, if it is one.
func (a *File) sync() error {
	if info, err := a.f.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	return a.f.Sync()
}

func (a *File) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return errors.Join(a.sync(), a.f.Close())
}

// isMoved reports whether the path no longer names the current file, and remembers it for
// Rotated.
func (a *File) isMoved() bool {
	now, err := os.Stat(a.path)
	if err == nil {
		open, failed := a.f.Stat()
		if failed != nil || os.SameFile(now, open) {
			return false
		}
	}
	a.moved = true
	return true
}

// Rotated reports whether another program has moved the file since the last call, and reopens it
// then.
func (a *File) Rotated() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.isMoved() {
		a.failing = false
		a.report(a.reopen())
	}
	moved := a.moved
	a.moved = false
	return moved
}
