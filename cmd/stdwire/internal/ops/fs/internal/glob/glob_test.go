package glob

import (
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern string
		yes, no string // paths, separated by spaces
	}{
		{"*", "a a/b .x", ""},
		{"*.go", "a.go x/y/a.go .go", "a.gox a.go/b ago"},
		{"a?c", "abc aüc x/abc", "ac abbc a/c"},
		{"a\\?c", "a?c", "abc"},
		{"src/*.go", "src/a.go", "src/x/a.go x/src/a.go a.go"},
		{"src/**", "src/a src/a/b", "src xsrc/a"},
		{"**", "a a/b", ""},
		{"**/a", "a x/a x/y/a", "xa a/x"},
		{"**/*.go", "a.go x/y/a.go", "a.c"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "ab a/xb b"},
		{"a/**/**/b", "a/b a/x/b", "b"},
		{"a**b/c", "ab/c axxb/c", "a/b/c axb"},
		{"a/b**", "a/b a/bx", "a/b/c"},
		{"***/a", "x/a", "x/y/a"},
		{"[a-c]x", "ax cx", "dx x"},
		{"[!a-c]x", "dx -x", "ax"},
		{"[^a]", "b", "a"},
		{"x/[!a]/y", "x/b/y", "x/a/y x/b/c/y"},
		{"[]a]", "] a", "b"},
		{"[a\\]]", "] a", "\\"},
		{"[[]", "[", "]"},
		{"[a^]", "^ a", "b"},
		{"[:a:]", ": a", "b"},
		{"[a&&b]", "& a b", "c"},
		{"*.{ts,tsx}", "a.ts a.tsx", "a.t a.{ts,tsx}"},
		{"{a,b/{c,d}}/*", "a/x b/c/x b/d/x", "b/x"},
		{"{,x}a", "a xa", "ya"},
		{"a,b", "a,b", "a b"},
		{"a}", "a}", "a"},
		{"a.b+(c)|$^", "a.b+(c)|$^", "axb+(c)|$^"},
		{"é*", "école x/é", "e"},
		{"\\*", "*", "a"},
	} {
		g, err := compile(test.pattern)
		assert.NilError(t, err)
		for _, name := range strings.Fields(test.yes) {
			assert.Check(t, g.Match(name), "%q must match %q", test.pattern, name)
		}
		for _, name := range strings.Fields(test.no) {
			assert.Check(t, !g.Match(name), "%q must not match %q", test.pattern, name)
		}
	}
	for _, bad := range []string{"", "[", "[a", "[]", "[!]", "[a/b]", "{a", "{a,{b}", "a\\", "[a\\",
		"[z-a]", strings.Repeat("a", maxGlob+1)} {
		_, err := compile(bad)
		assert.Check(t, err != nil, "%q must be refused", bad)
	}
	newline, err := compile("a*b")
	assert.NilError(t, err)
	assert.Assert(t, newline.Match("a\nb"), "a name may hold a line break")
}

// A pattern on which backtracking takes exponential time.
func TestGlobLinear(t *testing.T) {
	t.Parallel()
	g, err := compile("**/" + strings.Repeat("*a", 300) + "*/{" + strings.Repeat("**/,", 20) +
		"}b")
	assert.NilError(t, err)
	assert.Assert(t, !g.Match(strings.Repeat(strings.Repeat("a", 200)+"/", 20)+"c"))
}

// matchSimple matches a pattern of *, ? and plain characters by exhaustive search.
func matchSimple(pattern, name string) bool {
	switch {
	case pattern == "":
		return name == ""
	case pattern[0] == '*':
		return matchSimple(pattern[1:], name) || name != "" && matchSimple(pattern, name[1:])
	case name == "":
		return false
	default:
		return (pattern[0] == '?' || pattern[0] == name[0]) && matchSimple(pattern[1:], name[1:])
	}
}

func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"*.go", "a.go"}, {"a/**/b", "a/x/b"}, {"[!a-c]{x,y}", "dx"},
		{"\\[?", "[a"}, {"*a*b?", "xaxbx"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := compile(pattern)
		if err != nil {
			if strings.ContainsAny(pattern, `[]{}\`) || pattern == "" || len(pattern) > maxGlob ||
				!utf8.ValidString(pattern) {
				return
			}
			t.Fatalf("%q: %v", pattern, err)
		}
		got := g.Match(name)
		ascii := strings.IndexFunc(pattern+name,
			func(r rune) bool { return r >= utf8.RuneSelf }) < 0
		if ascii && len(pattern)+len(name) < 24 && name != "" &&
			!strings.ContainsAny(pattern+name, `[]{}\/`) {
			assert.Equal(t, got, matchSimple(pattern, name), "%q %q", pattern, name)
		}
	})
}
