package bundle

import (
	"archive/zip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// Extract extracts the bundle to a directory of parent that is named after its digest, unless that
// exists, and returns the directory. Parent is created if needed; only the user can read it. The
// directory appears when it is complete. Several processes may extract the same bundle.
func (b *Bundle) Extract(ctx context.Context, parent string) (dir string, err error) {
	dir = filepath.Join(parent, b.Digest)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	temp := filepath.Join(parent, ".stdwire-"+rand.Text()+".tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := b.extractTo(ctx, temp); err != nil {
		return "", err
	}
	if err := atomicfile.Rename(temp, dir); err != nil {
		if _, exists := os.Stat(dir); exists == nil { // another process was first
			return dir, nil
		}
		return "", err
	}
	return dir, nil
}

func (b *Bundle) extractTo(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := b.limits.Total
	for _, f := range b.zip.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, directory := strings.CutSuffix(f.Name, "/")
		if directory {
			err = root.MkdirAll(name, 0o700)
		} else {
			err = b.extractFile(root, f, &left)
		}
		if err != nil {
			return fmt.Errorf("extracting %.100q: %w", f.Name, err)
		}
	}
	return nil
}

// extractFile extracts one file and subtracts its size from left.
func (b *Bundle) extractFile(root *os.Root, f *zip.File, left *int64) (err error) {
	if parent := path.Dir(f.Name); parent != "." {
		if err := root.MkdirAll(parent, 0o700); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o600)
	// Archives that are made on Windows do not say what is executable.
	if f.Mode()&0o100 != 0 || b.Manifest.Server.Type == "binary" &&
		f.Name == b.Manifest.Server.EntryPoint {
		mode = 0o700
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := root.OpenFile(f.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	// The declared size may be wrong; zip checks it, and the checksum, at the end of the file.
	n, err := io.Copy(out, io.LimitReader(in, *left+1))
	if *left -= n; *left < 0 {
		return fmt.Errorf("%w: the files have more than %d bytes", ErrLimit, b.limits.Total)
	}
	return err
}
