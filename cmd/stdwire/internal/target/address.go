package target

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// bundleSuffix ends the names of bundles.
const bundleSuffix = ".mcpb"

// SetServer takes the value of -s: a URL, a path of a bundle with a directory, such as ./x.mcpb, or
// else the id of a configured server, for which no file of the working directory can stand in.
func (t *Target) SetServer(value string) error {
	if value == "" {
		return errors.New("the value is empty")
	}
	if IsURL(value) || filepath.Base(value) != value {
		if taken, err := t.TakeAddress(value); taken || err != nil {
			return err
		}
	}
	t.Configured.ID = value
	return nil
}

// TakeAddress takes an argument that is the URL of a server, or the path of a bundle. It returns
// false if the argument is neither: a bundle exists, or its path has a directory.
func (t *Target) TakeAddress(word string) (taken bool, err error) {
	switch {
	case IsURL(word):
		if err := CheckURL(word); err != nil {
			return false, err
		}
	case !isBundle(word):
		return false, nil
	}
	if t.bundle != "" || !t.IsBuiltin() {
		return false, command.Usagef("a URL or bundle and another server exclude each other")
	}
	if IsURL(word) {
		t.Remote.URL = word
		return true, nil
	}
	t.bundle = word
	t.Words, err = bundleCommand(word)
	return true, err
}

// isBundle reports whether an argument is the path of a bundle.
func isBundle(word string) bool {
	if !strings.HasSuffix(word, bundleSuffix) || strings.HasPrefix(word, "-") {
		return false
	}
	if filepath.Base(word) != word {
		return true
	}
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular()
}

// bundleCommand returns the command that runs the server of a bundle.
func bundleCommand(path string) ([]string, error) {
	self, err := os.Executable()
	return []string{self, "bundle", "run", path}, err
}

// isOtherCommand reports whether a command is given beside a bundle.
func (t *Target) isOtherCommand() bool {
	words, err := bundleCommand(t.bundle)
	return t.bundle != "" && err == nil && !slices.Equal(t.Words, words)
}
