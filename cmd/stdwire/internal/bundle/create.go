package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/userfile"
)

// excluded are the names of files and directories that do not belong in a bundle: version control,
// the system's and editors' files, other bundles, and files of secrets.
var excluded = []string{".git", ".hg", ".svn", ".DS_Store", "Thumbs.db", "*.swp", "*.mcpb", "*.dxt",
	".env", ".env.*", ".npmrc", ".mcpbignore", ".stdwire-*.tmp"}

// Create writes a bundle of a directory to w and returns the names of its files. The same files
// give the same bytes. The directory must have a valid manifest. Files that match one of patterns,
// or of a list of names that never belong in a bundle, are left out: a pattern of [path.Match] is
// compared with the name of a file or directory, and with its path.
func Create(ctx context.Context, w io.Writer, dir fs.FS, patterns []string,
	limits Limits) ([]string, error) {
	manifest, err := userfile.ReadFS(dir, ManifestName, limits.Manifest)
	if err != nil {
		return nil, err
	}
	m, err := ParseManifest(manifest)
	if err != nil {
		return nil, err
	}
	files, err := list(ctx, dir, append(slices.Clone(excluded), patterns...), limits)
	if err != nil {
		return nil, err
	}
	if err := m.Check(files); err != nil {
		return nil, err
	}
	z := zip.NewWriter(w)
	left := limits.Total
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		mode := fs.FileMode(0o644)
		if info, err := fs.Stat(dir, name); err == nil && info.Mode()&0o111 != 0 ||
			m.Server.Type == "binary" && name == m.Server.EntryPoint {
			mode = 0o755
		}
		if err := add(z, dir, name, mode, &left); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return files, z.Close()
}

// list returns the files of a directory, sorted.
func list(ctx context.Context, dir fs.FS, patterns []string, limits Limits) (files []string,
	err error) {
	names := nameSet{map[string]bool{}, limits.Files}
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if name == "." {
			return nil
		}
		for _, p := range patterns {
			base, err := path.Match(p, path.Base(name))
			whole, _ := path.Match(p, name)
			switch {
			case err != nil:
				return fmt.Errorf("the pattern %q: %w", p, err)
			case (base || whole) && d.IsDir():
				return fs.SkipDir
			case base || whole:
				return nil
			}
		}
		if err := checkName(name); err != nil {
			return err
		}
		if d.IsDir() {
			return nil
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%q is neither a file nor a directory: copy what it links to, or exclude it",
				name)
		}
		files = append(files, name)
		err = names.add(name, false)
		if errors.Is(err, ErrLimit) {
			err = fmt.Errorf("%w; exclude some", err)
		}
		return err
	})
	slices.Sort(files)
	return files, err
}

// add adds a file and subtracts its size from left.
func add(z *zip.Writer, dir fs.FS, name string, mode fs.FileMode, left *int64) error {
	in, _, err := userfile.OpenFS(dir, name)
	if err != nil {
		return err
	}
	defer in.Close()
	header := &zip.FileHeader{Name: name, Method: zip.Deflate,
		Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)} // the earliest time of ZIP
	header.SetMode(mode)
	out, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, *left+1))
	if *left -= n; *left < 0 {
		return fmt.Errorf("%w: the files have more bytes than a bundle may have", ErrLimit)
	}
	return err
}

// IgnorePatterns returns the patterns of a .mcpbignore file, for [Create]: one on each line, with #
// for comments. A pattern that [path.Match] cannot express is an error.
func IgnorePatterns(text []byte) (patterns []string, err error) {
	for line := range bytes.Lines(text) {
		pattern := strings.TrimSpace(string(line))
		switch {
		case pattern == "" || pattern[0] == '#':
			continue
		case pattern[0] == '!' || strings.Contains(pattern, "**"):
			return nil, fmt.Errorf("the pattern %q has ! or **, which are not supported", pattern)
		}
		pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "/"), "/")
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("the pattern %q: %w", pattern, err)
		}
		patterns = append(patterns, pattern)
	}
	return patterns, nil
}
