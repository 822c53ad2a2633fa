package grep

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Long lines are searched by other code than short ones, with the same result.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "a", "xxab", "\xffab", "üab", "a\rb"} {
		for _, expr := range []string{"ab", "^a", "b$", "^$", ".", `\bab`, "(?i)AB", "[^a-z]",
			`x*`} {
			re := regexp.MustCompile(expr)
			for _, padding := range []int{0, longLine} {
				text := []byte(line + strings.Repeat("_", padding))
				want := -1
				if at := re.FindIndex(text); at != nil {
					want = at[0]
				}
				assert.Equal(t, findMatch(t.Context(), re, text), want, "%q in %q + %d", expr, line,
					padding)
			}
		}
	}
}

func TestFindGivesUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	line := []byte(strings.Repeat("x", maxLine) + "y")
	assert.Equal(t, findMatch(ctx, regexp.MustCompile("[yz]$"), line), -1)
	assert.Equal(t, findMatch(t.Context(), regexp.MustCompile("[yz]$"), line), maxLine)
}

func TestPatternSize(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{100: true, 900: false} {
		_, err := Compile(fmt.Sprintf("(abcdef){%d}", n), false, false)
		assert.Equal(t, err == nil, ok, "%d: %v", n, err)
	}
}
