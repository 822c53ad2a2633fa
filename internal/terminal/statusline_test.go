package terminal

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestStatusLine(t *testing.T) {
	var screen strings.Builder
	var s StatusLine
	s.Erase(&screen, 80)
	assert.Equal(t, screen.String(), "")
	s.Show(&screen, 80, "a\nb")
	s.Show(&screen, 80, strings.Repeat("é", 80))
	s.Erase(&screen, 80)
	s.Erase(&screen, 80)
	assert.Equal(t, screen.String(),
		"a b\r\x1b[K"+strings.Repeat("é", 78)+"…\r\x1b[K")
}

// A terminal that has become narrower has wrapped the status.
func TestStatusLineOnANarrowerTerminal(t *testing.T) {
	var screen strings.Builder
	var s StatusLine
	s.Show(&screen, 80, strings.Repeat("x", 70))
	s.Show(&screen, 30, strings.Repeat("日", 20))
	s.Erase(&screen, 100)
	assert.Equal(t, screen.String(), strings.Repeat("x", 70)+
		"\r\x1b[2A\x1b[J"+strings.Repeat("日", 14)+"…\r\x1b[K")
}
