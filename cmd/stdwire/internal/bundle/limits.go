package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// Limits bound what a bundle may contain.
type Limits struct {
	Files    int   // files and directories, which include the parents of files
	Total    int64 // bytes of all files when extracted
	Archive  int64 // bytes of the bundle
	Manifest int64 // bytes of the manifest
	Ratio    int64 // bytes extracted for each compressed byte, of a file of 1 MiB or more
}

// DefaultLimits are the limits of [Open] and [Create]. Bundles with the packages of Node have
// thousands of files.
var DefaultLimits = Limits{Files: 50_000, Total: 2 << 30, Archive: 1 << 30, Manifest: 1 << 20,
	Ratio: 200}

// ErrLimit is wrapped by errors about a bundle that exceeds a limit.
var ErrLimit = errors.New("over the limit")

// maxName is the length of the name of a file in bytes.
const maxName = 1024

// checkName returns an error unless name can be created below a directory of any system, as itself.
func checkName(name string) error {
	switch {
	case !fs.ValidPath(name) || name == "." || len(name) > maxName ||
		strings.ContainsAny(name, "\\:*?\"<>|") ||
		strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return fmt.Errorf("%.100q is not the name of a file in a bundle: that is a clean relative path "+
			"of at most %d bytes, without control characters and \\ : * ? \" < > |", name, maxName)
	}
	for part := range strings.SplitSeq(name, "/") {
		if atomicfile.Name(part) != part || strings.HasSuffix(part, " ") {
			return fmt.Errorf("%.100q cannot be a file on Windows: it has a reserved name, or ends "+
				"with a dot or a space", name)
		}
	}
	return nil
}

// A nameSet finds names that are one file on some systems, and files that are directories, too.
type nameSet struct {
	directory map[string]bool // by name in lower case; true for a directory
	limit     int             // files and directories
}

// add adds a name and its parents, which an archive need not list.
func (s nameSet) add(name string, directory bool) error {
	key := strings.ToLower(name)
	if is, known := s.directory[key]; known && (!is || !directory) {
		return fmt.Errorf("%.100q is there twice, perhaps in another case", name)
	}
	s.directory[key] = directory
	for parent := path.Dir(key); parent != "."; parent = path.Dir(parent) {
		is, known := s.directory[parent]
		if known && !is {
			return fmt.Errorf("%.100q is below a file", name)
		}
		s.directory[parent] = true
		if known {
			break
		}
	}
	if len(s.directory) > s.limit {
		return fmt.Errorf("%w: there are more than %d files and directories", ErrLimit, s.limit)
	}
	return nil
}
