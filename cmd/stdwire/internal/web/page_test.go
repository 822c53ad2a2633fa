package web

import (
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Colours and pixels stand in the style sheet's blocks of :root only, so that a theme is complete.
func TestStyleHasOnePlaceForColours(t *testing.T) {
	sheet, err := page.ReadFile("page/style.css")
	assert.NilError(t, err)
	text := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(sheet), "")
	tokens, rest := "", ""
	for _, block := range strings.SplitAfter(text, "}") {
		if strings.Contains(block, ":root") {
			tokens += block
		} else {
			rest += block
		}
	}
	outside := regexp.MustCompile(`#[0-9a-f]{3,8}\b[^{]*;|\b(rgb|hsl|light-dark)a?\(|\d(px|pt)\b`)
	assert.DeepEqual(t, outside.FindAllString(rest, -1), []string(nil))

	defined := map[string]bool{}
	for _, m := range regexp.MustCompile(`(--[a-z0-9-]+):`).FindAllStringSubmatch(tokens, -1) {
		defined[m[1]] = true
	}
	used := regexp.MustCompile(`var\((--[a-z0-9-]+)\)`).FindAllStringSubmatch(text, -1)
	assert.Assert(t, len(used) > 100 && len(defined) > 40)
	for _, m := range used {
		assert.Assert(t, defined[m[1]], "%s is used and not defined", m[1])
	}
	for name := range defined {
		if !strings.HasPrefix(name, "--f-") { // the chart uses these
			assert.Assert(t, strings.Contains(text, "var("+name+")"), "%s is not used", name)
		}
	}
}
