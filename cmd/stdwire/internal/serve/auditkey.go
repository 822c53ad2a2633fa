package serve

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
)

// auditKeySize is the size of a key of HMAC-SHA-256 in bytes.
const auditKeySize = 32

// auditKey returns the key of the digests in an audit log, which it creates if needed. The key is
// in a file beside the log that only its user can read, so that equal arguments have equal digests
// in the whole log, whichever process writes a line. It returns nil, and the gateway makes a key of
// its own, if the log is not a regular file or nothing can be written beside it; the latter is
// logged.
func auditKey(to *os.File, log *slog.Logger) ([]byte, error) {
	info, err := to.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	path := to.Name() + ".key"
	key, err := readAuditKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	made, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with 0600
	if err != nil {
		log.Warn("the key of the audit log cannot be kept: its digests can be compared until this program ends",
			slog.Any("error", err))
		return nil, nil
	}
	defer os.Remove(made.Name())
	_, err = io.CopyN(made, rand.Reader, auditKeySize)
	if err = errors.Join(err, made.Close()); err != nil {
		return nil, err
	}
	// Of several processes that begin at once, one must win, and the others must not see half of
	// its key.
	if err := atomicfile.Move(made.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readAuditKey(path)
}

func readAuditKey(path string) ([]byte, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() != auditKeySize:
		return nil, fmt.Errorf("%s: it is no key of an audit log: remove it, and a new one is made",
			path)
	case atomicfile.Permissions && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf(
			"%s: others may read it, so digests could be guessed: chmod 600 it, or remove it", path)
	}
	key := make([]byte, auditKeySize)
	_, err = io.ReadFull(f, key)
	return key, err
}
