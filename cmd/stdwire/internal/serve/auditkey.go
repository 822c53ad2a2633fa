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

// auditKeySize is that of a key of HMAC-SHA-256, in bytes.
const auditKeySize = 32

// auditKey returns the key of the digests in an audit log. It is kept beside the log, in a file
// that only its user may read, so that the same arguments have the same digest in all of the log,
// whichever process has written the line; it is made if there is none. It is nil, so that the
// gateway has one of its own, for a log that is no regular file, as what is beside a pipe or a
// terminal is not its, and where nothing can be written beside the log, which the log of this
// program is told.
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
		log.Warn("the key of the audit log cannot be kept: its digests can be compared until this program ends", slog.Any("error", err))
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
		return nil, fmt.Errorf("%s: it is no key of an audit log: remove it, and a new one is made", path)
	case atomicfile.Permissions && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s: others may read it, so digests could be guessed: chmod 600 it, or remove it", path)
	}
	key := make([]byte, auditKeySize)
	_, err = io.ReadFull(f, key)
	return key, err
}
