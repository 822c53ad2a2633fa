package stray

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

func FuzzRepairUnicode(f *testing.F) {
	for _, text := range []string{`"\ud83d"`, `"\\ud83d\ud83d\ude00"`, "\"\xe5\"", `"\ude00\ud83d`,
		`{"a":"\\"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fixed := Repair(text)
		if jsonscan.Valid(text) == nil {
			assert.Equal(t, string(fixed), string(text)) // nothing to repair
		}
		// encoding/json replaces invalid Unicode by U+FFFD. Text that it accepts must be valid
		// after the repair, and strings must have the same meaning, except that consecutive invalid
		// bytes become one U+FFFD.
		if !json.Valid(text) ||
			bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) >= jsonscan.MaxDepth {
			return
		}
		assert.NilError(t, jsonscan.Valid(fixed))
		var before, after string
		if json.Unmarshal(text, &before) == nil {
			assert.NilError(t, json.Unmarshal(fixed, &after))
			assert.Equal(t, squeeze(after), squeeze(before))
		}
	})
}

// squeeze replaces consecutive U+FFFD by one.
func squeeze(s string) string {
	return regexp.MustCompile("\uFFFD+").ReplaceAllString(s, "\uFFFD")
}

// A sample is printable and short, whatever the line is.
func TestSample(t *testing.T) {
	assert.Equal(t, Sample([]byte("listening on 3000")), "listening on 3000")
	long := []rune(Sample([]byte(strings.Repeat("\u00e9", 2*maxSample))))
	assert.Equal(t, len(long), maxSample)
	assert.Equal(t, long[maxSample-1], '\u2026')
	assert.Assert(t, !strings.Contains(Sample([]byte("\x1b[31mred")), "\x1b"))
}
