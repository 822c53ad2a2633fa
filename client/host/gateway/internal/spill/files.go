package spill

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/userfile"
)

// suffix is that of the names of files.
const suffix = ".result"

// files are results in files, encrypted with a key that only this process has: what a process
// leaves behind that was killed is of no use to anybody.
type files struct {
	dir     string
	aead    func() cipher.AEAD
	prepare func() error // makes the directory and removes what others have left behind
}

func newFiles(dir string) *files {
	return &files{dir: dir, aead: sync.OnceValue(newAEAD),
		prepare: sync.OnceValue(func() error {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
			removeOld(dir)
			return nil
		})}
}

func newAEAD() cipher.AEAD {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err == nil {
		var aead cipher.AEAD
		if aead, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return aead
		}
	}
	panic("spill: cannot make a key: " + err.Error()) // impossible: the length of the key is valid
}

// removeOld removes the files of processes that were killed.
func removeOld(dir string) {
	all, _ := os.ReadDir(dir) // what cannot be read stays
	for _, f := range all {
		info, err := f.Info()
		if err == nil && strings.HasSuffix(f.Name(), suffix) && info.Mode().IsRegular() &&
			time.Since(info.ModTime()) > Lifetime {
			_ = atomicfile.Remove(filepath.Join(dir, f.Name())) // the next process tries again
		}
	}
}

func (f *files) path(e *entry) string { return filepath.Join(f.dir, e.file+suffix) }

// write writes the result of an entry to a file that other users cannot read. If it fails, no file
// is left.
func (f *files) write(e *entry, result []byte) error {
	if err := f.prepare(); err != nil {
		return err
	}
	path := f.path(e)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(f.aead().Seal(nil, nil, result, []byte(e.id)))
	err = errors.Join(err, file.Close())
	if err != nil {
		_ = atomicfile.Remove(path)
	}
	return err
}

// read returns the result of an entry.
func (f *files) read(e *entry) ([]byte, error) {
	aead := f.aead()
	sealed, err := userfile.Read(f.path(e), e.size+int64(aead.Overhead()))
	if err != nil {
		return nil, err
	}
	return aead.Open(sealed[:0], nil, sealed, []byte(e.id))
}

// remove removes the file of an entry, if there is one.
func (f *files) remove(e *entry) { _ = atomicfile.Remove(f.path(e)) }
