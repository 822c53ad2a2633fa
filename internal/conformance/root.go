package conformance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// FillRoot fills a directory with hello.txt and enough files for a search that can be cancelled:
// many small files, so that progress starts early, and then many hard links of one large file.
func FillRoot(dir string) error {
	small, large := filepath.Join(dir, "small"), filepath.Join(dir, "zzz")
	err := errors.Join(
		os.MkdirAll(small, 0o700), os.MkdirAll(large, 0o700),
		os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("Hello, world.\n"), 0o600),
		os.WriteFile(filepath.Join(large, "first"),
			[]byte(strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 100_000)),
			0o600),
	)
	for i := range 1500 {
		err = errors.Join(err,
			os.WriteFile(filepath.Join(small, fmt.Sprint(i)), []byte("x\n"), 0o600))
	}
	for i := range 3000 {
		err = errors.Join(err,
			os.Link(filepath.Join(large, "first"), filepath.Join(large, fmt.Sprint(i))))
	}
	return err
}
