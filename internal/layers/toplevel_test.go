package layers

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// topLevel are the files and folders at the top of the tree, besides dot files. Nothing is added: a
// new package belongs below one of the folders.
var topLevel = []string{"CONTRIBUTING.md", "LICENSE", "README.md", "client", "cmd", "dispatch",
	"framing", "go.mod", "go.sum", "internal", "rpc", "server"}

func TestTopLevelIsClosed(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-files").Output()
	if err != nil {
		t.Skipf("git ls-files: %v: the test needs a clone, not an archive", err)
	}
	var found []string
	for name := range strings.Lines(string(out)) {
		top, _, _ := strings.Cut(strings.TrimSpace(name), "/")
		if !strings.HasPrefix(top, ".") && !slices.Contains(found, top) {
			found = append(found, top)
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, topLevel) {
		t.Errorf("the top level has %q, want %q: move a package below one of these folders", found,
			topLevel)
	}
}
