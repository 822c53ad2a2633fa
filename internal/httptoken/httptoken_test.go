package httptoken

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// RFC 9110, section 5.6.2: any VCHAR except delimiters.
func TestIs(t *testing.T) {
	for c := range 256 {
		delimiter := strings.IndexByte(`"(),/:;<=>?@[\]{}`, byte(c)) >= 0
		want := c > ' ' && c < 0x7f && !delimiter
		text := string([]byte{'a', byte(c)})
		assert.Equal(t, Is(text), want, "%q", text)
		assert.Equal(t, Is([]byte(text)), want, "%q", text)
	}
	assert.Assert(t, !Has('\u0161') && !Has('\ufffd'))
	assert.Assert(t, !Is("") && !Is([]byte(nil)) && !Is("é") && Is("X-Api-Key"))
}
