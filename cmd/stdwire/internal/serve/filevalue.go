package serve

import (
	"crypto/sha256"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// A fileValue is a value that is parsed from files, and parsed again when they have changed. It
// checks the files when the value is used, once a second at most. If the files are missing or
// invalid, it keeps the last value and logs the error. A pipe that the user has named is read once,
// at the start.
type fileValue[T any] struct {
	what  string // the value, in messages
	paths []string
	first func(path string) ([]byte, error) // reads a file at the start; if nil, read does
	read  func(path string) ([]byte, error) // reads a file again; it never blocks
	parse func(contents [][]byte) (T, error)
	log   *slog.Logger

	mu      sync.Mutex
	value   T
	sum     [sha256.Size]byte // of the contents
	prints  []fingerprint     // of the files that were read last
	checked time.Time
	failure string // the last error that was logged
}

// load reads the files for the first time.
func (v *fileValue[T]) load() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.checked = time.Now()
	read := v.first
	if read == nil {
		read = v.read
	}
	_, err := v.reload(read)
	return err
}

// get returns the current value. It is safe for concurrent use.
func (v *fileValue[T]) get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := time.Now(); now.Sub(v.checked) >= watchInterval {
		v.checked = now
		v.check()
	}
	return v.value
}

// check reads the files again if they may have changed.
func (v *fileValue[T]) check() {
	same := len(v.prints) == len(v.paths)
	for i := 0; same && i < len(v.paths); i++ {
		info, err := os.Stat(v.paths[i])
		same = err == nil && (v.prints[i].isUnchanged(info) ||
			isPipe(info) && isPipe(v.prints[i].info))
	}
	if same {
		return
	}
	changed, err := v.reload(v.read)
	switch {
	case err != nil && err.Error() != v.failure:
		v.log.Warn(v.what+" cannot be read again; the last one stays in use",
			slog.Any("error", err))
		v.failure = err.Error()
	case err == nil:
		v.failure = ""
	}
	if changed {
		v.log.Info(v.what + " has changed and was read again")
	}
}

// isPipe reports whether a file can be read only once.
func isPipe(info fs.FileInfo) bool { return !info.Mode().IsRegular() }

// reload reads the files with read and reports whether their contents have changed. On an error it
// changes nothing, and the next check reads them again.
func (v *fileValue[T]) reload(read func(path string) ([]byte, error)) (changed bool,
	err error) {
	v.prints = nil
	var prints []fingerprint
	var contents [][]byte
	all := sha256.New()
	for _, path := range v.paths {
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
		value, err := v.parse(contents)
		if err != nil {
			return false, err
		}
		v.value, v.sum, changed = value, sum, true
	}
	v.prints = prints
	return changed, nil
}
