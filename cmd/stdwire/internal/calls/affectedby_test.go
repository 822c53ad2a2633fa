package calls

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestAbout(t *testing.T) {
	uris := []string{"file:///a", "file:///a/b", "file:///a/c/", "x:y"}
	for changed, want := range map[string]string{
		"file:///a": "file:///a", "file:///a/b": "file:///a file:///a/b",
		"file:///a/c/d": "file:///a file:///a/c/", "x:y": "x:y",
		"file:///ab": "file:///a file:///a/b file:///a/c/ x:y", // none of them, so it may be any
	} {
		assert.Equal(t, strings.Join(affectedBy(changed, uris), " "), want, changed)
	}
}
