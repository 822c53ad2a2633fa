package layers

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// platformSuffix matches what selects a file for a platform, in Go's way or in that of a file whose
// first line does it.
var platformSuffix = regexp.MustCompile(
	`(_(linux|windows|darwin|freebsd|unix|posix|other|amd64|arm64|386))+$`)

// maxFiles limits the files of a package: a reader can still read through their names.
const maxFiles = 30

func TestFilesPerPackage(t *testing.T) {
	sizes, _ := sourceFiles(t)
	files := map[string]int{}
	for name := range sizes {
		files[path.Dir(name)]++
	}
	for dir, n := range files {
		if n > maxFiles {
			t.Errorf("%s has %d files, more than %d: merge files that decide one thing, or make a "+
				"package of some", dir, n, maxFiles)
		}
	}
}

// TestFileNames lists production files whose names have an underscore that is not one of a
// platform: the standard library writes the words of a name together.
func TestFileNames(t *testing.T) {
	files := 0
	assert.NilError(t, fs.WalkDir(os.DirFS("../.."), ".",
		func(name string, d fs.DirEntry, err error) error {
			base := path.Base(name)
			switch {
			case err != nil:
				return err
			case d.IsDir():
				if name != "." && (strings.HasPrefix(base, ".") || base == "testdata") {
					return fs.SkipDir
				}
				return nil
			case !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go"):
				return nil
			}
			files++
			stem := strings.TrimSuffix(base, ".go")
			if strings.Contains(platformSuffix.ReplaceAllString(stem, ""), "_") {
				t.Errorf("%s: write the words of the name together", name)
			}
			return nil
		}))
	assert.Assert(t, files > 500)
}
