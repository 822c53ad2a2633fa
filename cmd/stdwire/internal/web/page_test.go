package web

import (
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// The page is small, so that it stays readable and needs no build.
func TestPageIsSmall(t *testing.T) {
	files, err := page.ReadDir("page")
	assert.NilError(t, err)
	size := 0
	for _, f := range files {
		text, err := page.ReadFile("page/" + f.Name())
		assert.NilError(t, err)
		size += len(text)
	}
	assert.Assert(t, len(files) > 20 && size <= 260<<10, "%d bytes", size)
}

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
	assert.DeepEqual(t, regexp.MustCompile(`\d(px|pt)\b`).FindAllString(rest, -1), []string(nil))
	assert.DeepEqual(t, colours(rest), []string(nil))
	for _, one := range []string{"#FFF", "#12345678", "white", "1px solid Red", "oklch(0 0 0)",
		"color-mix(in srgb, var(--a), var(--b))"} {
		assert.Equal(t, len(colours("a { b: var(--c); color: "+one+" }")), 1, one)
	}

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

// colours returns the values in a style sheet that have a colour of their own.
func colours(sheet string) (found []string) {
	colour := regexp.MustCompile(`(?i)#[0-9a-f]{3,8}\b|` +
		`\b(rgba?|hsla?|hwb|(ok)?(lab|lch)|color|color-mix|light-dark)\(|` +
		`\b([a-z]*(black|blue|brown|coral|cyan|gold|goldenrod|gr[ae]y|green|khaki|magenta|orange|` +
		`orchid|pink|purple|red|salmon|silver|tan|turquoise|violet|white|yellow)|` + // and the rest
		`aqua|aquamarine|azure|beige|bisque|blanchedalmond|burlywood|chartreuse|chocolate|cornsilk|` +
		`crimson|firebrick|fuchsia|gainsboro|honeydew|indigo|ivory|lavender|lavenderblush|` +
		`lemonchiffon|lime|linen|maroon|mintcream|mistyrose|moccasin|navy|oldlace|olive|olivedrab|` +
		`papayawhip|peachpuff|peru|plum|seashell|sienna|snow|teal|thistle|tomato|wheat|whitesmoke)\b`)
	for block := range strings.SplitSeq(sheet, "}") {
		for declaration := range strings.SplitSeq(block[strings.LastIndex(block, "{")+1:], ";") {
			if _, value, ok := strings.Cut(declaration, ":"); ok && colour.MatchString(value) {
				found = append(found, strings.TrimSpace(declaration))
			}
		}
	}
	return found
}
