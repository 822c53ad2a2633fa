package layers

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// CONTRIBUTING.md says what each package does.
func TestContributing(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	assert.NilError(t, err)
	tables, _, ok := strings.Cut(string(text), "\n## Where a change goes\n")
	assert.Assert(t, ok)
	for _, l := range layers {
		word := regexp.MustCompile(`\b` + regexp.QuoteMeta(path.Base(l.name)) + `\b`)
		assert.Check(t, word.MatchString(tables), "%s has no row in CONTRIBUTING.md", l.name)
	}
}
