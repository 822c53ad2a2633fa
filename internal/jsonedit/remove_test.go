package jsonedit

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// Wherever there are comments and line ends: a member can be removed, and the other members and all
// comments outside of it stay.
func TestRemove(t *testing.T) {
	gaps := []string{"", " ", "\n ", " // ,c\n", "/* d */", " // ,c\r\n  "}
	check := func(text string) {
		for _, name := range []string{"a", "b"} {
			parsed, err := ParseJSON("f.json", []byte(text))
			assert.NilError(t, err)
			root, _ := parsed.Root()
			want := map[string]bool{}
			for _, m := range root.Members() {
				want[m.Name] = true
			}
			if !want[name] {
				continue
			}
			delete(want, name)
			e := NewEditor(parsed)
			e.Remove(root, name)
			after := string(e.Apply())
			parsed, err = ParseJSON("f.json", []byte(after))
			if err != nil {
				t.Fatalf("%q without %s became %q: %v", text, name, after, err)
			}
			root, _ = parsed.Root()
			left := root.Members()
			if len(left) != len(want) || len(left) == 1 && !want[left[0].Name] {
				t.Fatalf("%q without %s became %q", text, name, after)
			}
			for _, comment := range []string{"// ,c", "/* d */"} {
				if strings.Count(after, comment) != strings.Count(text, comment) {
					t.Fatalf("%q without %s became %q: %s is lost", text, name, after, comment)
				}
			}
		}
	}
	for _, trailing := range []string{"", ","} {
		for _, first := range gaps {
			for _, last := range gaps {
				check(`{` + first + `"a":1` + last + trailing + last + `}`)
				for _, before := range gaps {
					for _, after := range gaps {
						check(`{` + first + `"a":1` + before + `,` + after + `"b":2` + last +
							trailing + `}`)
					}
				}
			}
		}
	}
}

// A line end stays where a comment needs it.
func TestRemoveBehindAComment(t *testing.T) {
	for _, tt := range []struct{ in, out string }{
		{"{\n  \"a\":1, // c\n  \"b\":2 }", "{\n  \"a\":1 // c\n }"},
		{"{\n  \"a\":1, // c\n  \"b\":2\n}", "{\n  \"a\":1 // c\n}"},
		{"{ // c\n  \"b\":2}", "{ // c\n}"},
		{"{ // c\n  \"b\":2\n}", "{ // c\n}"},
		{"{ \"a\":1, \"b\":2 }", "{ \"a\":1 }"},
	} {
		parsed, err := ParseJSON("f.json", []byte(tt.in))
		assert.NilError(t, err)
		root, _ := parsed.Root()
		e := NewEditor(parsed)
		e.Remove(root, "b")
		assert.Equal(t, string(e.Apply()), tt.out)
	}
}
