package render

import (
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestColorJSON(t *testing.T) {
	got := strings.ReplaceAll(string(ColorJSON(
		[]byte(`{"a\"b" : [-1.5e+3,true,"x:",null],"c":"d"}`))), "\x1b", "")
	assert.Equal(t, got, `{[36m"a\"b"[0m : [[33m-1.5e+3[0m,[35mtrue[0m,`+
		`[32m"x:"[0m,[35mnull[0m],[36m"c"[0m:[32m"d"[0m}`)
}

// Without its colours, the text is as it was, valid or not.
func FuzzColorJSON(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `"`, `"\\`, `nul 1e "a`, "\"a\nb\""} {
		f.Add(seed)
	}
	sequence := regexp.MustCompile("\x1b\\[[0-9]+m")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x1b") { // is not printable
			return
		}
		assert.Equal(t, sequence.ReplaceAllString(string(ColorJSON([]byte(text))), ""), text)
	})
}
