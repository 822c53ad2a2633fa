package filewatch

import (
	"cmp"
	"crypto/sha256"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/userfile"
)

// A Value is a value that is parsed from files, and parsed again when they have changed. It
// checks the files when the value is used, once in an interval at most. If the files are missing or
// invalid, it keeps the last value and logs the error. A pipe that the user has named is read once,
// at the start.
type Value[T any] struct {
	What  string // the value, in messages
	Paths []string
	First func(path string) ([]byte, error) // reads a file at the start; if nil, Read does
	Read  func(path string) ([]byte, error) // reads a file again; it never blocks
	Parse func(contents [][]byte) (T, error)
	Log   *slog.Logger
	// Interval is the least time between two checks; 0: a second.
	Interval time.Duration

	mu      sync.Mutex
	value   T
	sum     [sha256.Size]byte // of the contents
	prints  []fingerprint     // of the files that were read last
	checked time.Time
	failure string // the last error that was logged
}

// PEM returns a value that is parsed from files with certificates and keys.
func PEM[T any](what string, parse func(contents [][]byte) (T, error), log *slog.Logger,
	paths ...string) *Value[T] {
	return &Value[T]{What: what, Paths: paths, Parse: parse, Log: log,
		First: func(path string) ([]byte, error) {
			return userfile.ReadArgument(path, userfile.MaxPEM)
		},
		Read: func(path string) ([]byte, error) { return userfile.Read(path, userfile.MaxPEM) }}
}

// Load reads the files for the first time.
func (v *Value[T]) Load() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.checked = time.Now()
	read := v.First
	if read == nil {
		read = v.Read
	}
	_, err := v.reload(read)
	return err
}

// Get returns the current value. It is safe for concurrent use.
func (v *Value[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := time.Now(); now.Sub(v.checked) >= cmp.Or(v.Interval, interval) {
		v.checked = now
		v.check()
	}
	return v.value
}

// check reads the files again if they may have changed.
func (v *Value[T]) check() {
	same := len(v.prints) == len(v.Paths)
	for i := 0; same && i < len(v.Paths); i++ {
		info, err := os.Stat(v.Paths[i])
		same = err == nil && (v.prints[i].isUnchanged(info) ||
			isPipe(info) && isPipe(v.prints[i].info))
	}
	if same {
		return
	}
	changed, err := v.reload(v.Read)
	switch {
	case err != nil && err.Error() != v.failure:
		v.Log.Warn(v.What+" cannot be read again; the last one stays in use",
			slog.Any("error", err))
		v.failure = err.Error()
	case err == nil:
		v.failure = ""
	}
	if changed {
		v.Log.Info(v.What + " has changed and was read again")
	}
}

// isPipe reports whether a file can be read only once.
func isPipe(info fs.FileInfo) bool { return !info.Mode().IsRegular() }

// reload reads the files with read and reports whether their contents have changed. On an error it
// changes nothing, and the next check reads them again.
func (v *Value[T]) reload(read func(path string) ([]byte, error)) (changed bool,
	err error) {
	v.prints = nil
	var prints []fingerprint
	var contents [][]byte
	all := sha256.New()
	for _, path := range v.Paths {
		info, err := os.Stat(path)
		if err != nil {
			return false, err
		}
		prints = append(prints, fingerprint{info: info, read: time.Now()})
		content, err := read(path)
		if err != nil {
			return false, err
		}
		contents = append(contents, content)
		sum := sha256.Sum256(content)
		_, _ = all.Write(sum[:])
	}
	sum := [sha256.Size]byte(all.Sum(nil))
	if sum != v.sum {
		value, err := v.Parse(contents)
		if err != nil {
			return false, err
		}
		v.value, v.sum, changed = value, sum, true
	}
	v.prints = prints
	return changed, nil
}
