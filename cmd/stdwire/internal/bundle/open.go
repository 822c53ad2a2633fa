package bundle

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/stdwire/stdwire/internal/userfile"
)

// A Bundle is an open bundle. The caller must call Close.
type Bundle struct {
	Manifest *Manifest
	Raw      []byte // the manifest as it is in the file
	Digest   string // the SHA-256 of the file, in hexadecimal
	Files    []string
	Total    int64 // bytes of all files when extracted, as the archive says

	file   *os.File
	zip    *zip.Reader
	limits Limits
}

// Open opens a bundle, and checks the names and sizes of its files and its manifest.
func Open(path string, limits Limits) (*Bundle, error) {
	f, info, err := userfile.Open(path)
	if err != nil {
		return nil, err
	}
	b := &Bundle{file: f, limits: limits}
	if err := b.read(info.Size()); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// Close closes the file.
func (b *Bundle) Close() error { return b.file.Close() }

func (b *Bundle) read(size int64) (err error) {
	if size > b.limits.Archive {
		return fmt.Errorf("%w: it has %d bytes, and at most %d are allowed", ErrLimit, size,
			b.limits.Archive)
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(b.file, b.limits.Archive)); err != nil {
		return err
	}
	b.Digest = hex.EncodeToString(h.Sum(nil))
	// A signature may follow the archive, whose end zip finds.
	in := &limitedReaderAt{b.file, endSize + int64(b.limits.Files)*entrySize}
	b.zip, err = zip.NewReader(in, size)
	switch {
	case errors.Is(err, ErrLimit):
		return err
	case err != nil:
		return fmt.Errorf("this is not a bundle: %w", err)
	}
	in.left = math.MaxInt64
	if err := b.checkFiles(); err != nil {
		return err
	}
	return b.readManifest()
}

// The directory of an archive is the list of its files, which zip reads whole. What it says about
// its size need not be true.
const (
	entrySize = 320      // bytes of the directory for each file, on average
	endSize   = 80 << 10 // bytes at the end of the archive in which zip searches the directory
)

// A limitedReaderAt reads a number of bytes, in any order.
type limitedReaderAt struct {
	io.ReaderAt
	left int64
}

func (r *limitedReaderAt) ReadAt(p []byte, at int64) (int, error) {
	if r.left -= int64(len(p)); r.left < 0 {
		return 0, fmt.Errorf("%w: the list of its files is too large", ErrLimit)
	}
	return r.ReaderAt.ReadAt(p, at)
}

// checkFiles checks names, types and declared sizes.
func (b *Bundle) checkFiles() error {
	if n := len(b.zip.File); n > b.limits.Files {
		return fmt.Errorf("%w: it has %d files, and at most %d are allowed", ErrLimit, n,
			b.limits.Files)
	}
	names := nameSet{map[string]bool{}, b.limits.Files}
	for _, f := range b.zip.File {
		name, directory := strings.CutSuffix(f.Name, "/")
		if err := checkName(name); err != nil {
			return err
		}
		if mode := f.Mode(); mode.IsDir() != directory || !directory && !mode.IsRegular() {
			return fmt.Errorf("%.100q is neither a file nor a directory: links are not extracted",
				f.Name)
		}
		if err := names.add(name, directory); err != nil {
			return err
		}
		if directory {
			continue
		}
		if err := b.checkSize(f); err != nil {
			return err
		}
		b.Files = append(b.Files, f.Name)
	}
	return nil
}

// checkSize checks and adds the declared size of a file.
func (b *Bundle) checkSize(f *zip.File) error {
	size := f.UncompressedSize64
	const small = 1 << 20
	switch {
	case size > uint64(b.limits.Total) || b.Total+int64(size) > b.limits.Total:
		return fmt.Errorf("%w: its files have more than %d bytes", ErrLimit, b.limits.Total)
	case size >= small && size/uint64(b.limits.Ratio) > f.CompressedSize64:
		return fmt.Errorf("%w: %.100q is compressed to less than a %dth", ErrLimit, f.Name,
			b.limits.Ratio)
	}
	b.Total += int64(size)
	return nil
}

func (b *Bundle) readManifest() error {
	for _, f := range b.zip.File {
		if f.Name != ManifestName {
			continue
		}
		if f.UncompressedSize64 > uint64(b.limits.Manifest) {
			return fmt.Errorf("%w: %s has more than %d bytes", ErrLimit, ManifestName,
				b.limits.Manifest)
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		defer in.Close()
		if b.Raw, err = io.ReadAll(io.LimitReader(in, b.limits.Manifest)); err != nil {
			return fmt.Errorf("%s: %w", ManifestName, err)
		}
		if b.Manifest, err = ParseManifest(b.Raw); err != nil {
			return err
		}
		return b.Manifest.Check(b.Files)
	}
	return fmt.Errorf("this is not a bundle: it has no %s", ManifestName)
}
