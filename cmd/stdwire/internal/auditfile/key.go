package auditfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/userfile"
)

// keySize is the size of a key of HMAC-SHA-256 in bytes.
const keySize = 32

// Key returns the key of the digests in the log; see keyOf.
func (a *File) Key() ([]byte, error) { return keyOf(a.f, a.log) }

// keyOf returns the key of the digests in an audit log, which it creates if needed. The key is
// in a file beside the log that only its user can read, so that equal arguments have equal digests
// in the whole log, even if several processes write it. It returns nil if the log is not a regular
// file or the key file cannot be created, which it logs; the gateway then generates a key.
func keyOf(to *os.File, log *slog.Logger) ([]byte, error) {
	info, err := to.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	path := to.Name() + ".key"
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	made, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with 0600
	if err != nil {
		log.Warn("the key of the audit log cannot be stored: its digests can be compared only until this program ends",
			slog.Any("error", err))
		return nil, nil
	}
	defer os.Remove(made.Name())
	_, err = io.CopyN(made, rand.Reader, keySize)
	if err = errors.Join(err, made.Close()); err != nil {
		return nil, err
	}
	// If several processes start at once, one must create the key, and the others must not read
	// part of it.
	if err := atomicfile.Move(made.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	f, info, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch {
	case info.Size() != keySize:
		return nil, fmt.Errorf("%s is not a key of an audit log: remove it to have a new one created",
			path)
	case userfile.OthersMay(info) != 0:
		return nil, fmt.Errorf(
			"%s can be read by others, who could verify guessed values: chmod 600 it, or remove it", path)
	}
	key := make([]byte, keySize)
	_, err = io.ReadFull(f, key)
	return key, err
}
