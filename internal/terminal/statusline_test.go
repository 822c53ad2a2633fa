package terminal

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestStatusLine(t *testing.T) {
	var screen strings.Builder
	var s StatusLine
	s.Erase(&screen)
	assert.Equal(t, screen.String(), "")
	s.Show(&screen, "a\nb")
	s.Show(&screen, strings.Repeat("é", 80))
	s.Erase(&screen)
	s.Erase(&screen)
	assert.Equal(t, screen.String(),
		"a b\r\x1b[K"+strings.Repeat("é", 78)+"…\r\x1b[K")
}
