package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

// SaveFlag is the flag --save.
func SaveFlag(dir *string) command.Flag {
	return command.TextFlag(dir, "--save", "DIR",
		"write images, audio and other binary content to new files there")
}

// A Saver writes new files into one directory. Whatever name a server gives, it neither writes
// outside the directory nor overwrites a file. A nil Saver saves nothing.
type Saver struct {
	dir  string
	root *os.Root
}

// OpenSaver opens the directory and creates it if needed. It returns nil if dir is "".
func OpenSaver(dir string) (*Saver, error) {
	if dir == "" {
		return nil, nil
	}
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		var root *os.Root
		if root, err = os.OpenRoot(dir); err == nil {
			return &Saver{dir, root}, nil
		}
	}
	return nil, command.Usagef("--save: %v", arguments.Plain(err))
}

// Close closes the directory.
func (s *Saver) Close() {
	if s != nil {
		_ = s.root.Close() // the directory has no buffered data
	}
}

// write writes a new file, adds a number to its name if the name is taken, and returns its path.
func (s *Saver) write(name string, data []byte) (string, error) {
	const maxNumber = 10_000
	extension := path.Ext(name)
	stem := strings.TrimSuffix(name, extension)
	for n := 1; n <= maxNumber; n++ {
		if n > 1 {
			name = fmt.Sprintf("%s-%d%s", stem, n, extension)
		}
		f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			if _, err = f.Write(data); err == nil {
				err = f.Close()
			} else {
				_ = f.Close()
			}
			if err != nil {
				_ = s.root.Remove(name) // it is incomplete
			}
		}
		if err != nil {
			return "", s.failure(name, arguments.Plain(err))
		}
		return filepath.Join(s.dir, name), nil
	}
	return "", s.failure(name, fmt.Errorf("%d files have that name already", maxNumber))
}

func (s *Saver) failure(name string, err error) error {
	return &command.Failure{Code: "internal", What: "--save",
		Why: fmt.Sprintf("%s was not saved in %s: %v", name, s.dir, err)}
}

// resourceFile returns the name of the file that a resource is saved in: the last part of its URI.
func resourceFile(uri, mimeType string) string {
	name := uri
	if u, err := url.Parse(uri); err == nil {
		if name = u.Host; u.Opaque != "" {
			name = u.Opaque
		}
		if last := path.Base(u.Path); last != "/" && last != "." {
			name = last
		}
	}
	return fileName(name, mimeType)
}

// fileName returns a file name that is safe on every system, with the extension of the MIME type if
// name has none.
func fileName(name, mimeType string) string {
	const longest = 100
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-+", r) {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(name, "_"))
	name = strings.Trim(name, "._- ")
	if len(name) > longest {
		name = name[len(name)-longest:] // the end has the extension
		for !utf8.RuneStart(name[0]) {
			name = name[1:]
		}
	}
	name = cmp.Or(name, "unnamed")
	if ext := strings.TrimPrefix(path.Ext(name), "."); !looksLikeExtension(ext) ||
		!strings.ContainsFunc(ext, unicode.IsLetter) {
		// a number, as in v1.2, is not an extension
		name += extension(mimeType)
	}
	return atomicfile.Name(name)
}

// looksLikeExtension reports whether text looks like a file extension.
func looksLikeExtension(text string) bool {
	const longest = 8
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return text != "" && len(text) <= longest && !strings.ContainsFunc(text, func(r rune) bool {
		return !plain(r)
	})
}

// extensions maps MIME types to their extensions, if these differ from the subtype.
var extensions = map[string]string{
	"image/jpeg": ".jpg", "image/svg+xml": ".svg", "image/x-icon": ".ico", "audio/mpeg": ".mp3",
	"audio/wave": ".wav", "text/plain": ".txt", "text/markdown": ".md",
	"application/gzip": ".gz", "application/octet-stream": ".bin",
}

// extension returns the file extension of a MIME type. It ignores the system's table, so that the
// same content has the same name everywhere.
func extension(mimeType string) string {
	mediaType, _, _ := strings.Cut(strings.ToLower(mimeType), ";")
	mediaType = strings.TrimSpace(mediaType)
	if known, ok := extensions[mediaType]; ok {
		return known
	}
	_, subtype, _ := strings.Cut(mediaType, "/")
	if subtype = strings.TrimPrefix(subtype, "x-"); looksLikeExtension(subtype) {
		return "." + subtype
	}
	return ".bin"
}
