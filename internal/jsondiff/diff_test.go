package jsondiff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"gotest.tools/v3/assert"
)

func changes(t *testing.T, old, now string, ignore ...string) (lines []string) {
	t.Helper()
	a, err := Canonical([]byte(old))
	assert.NilError(t, err)
	b, err := Canonical([]byte(now))
	assert.NilError(t, err)
	for _, c := range Diff(a, b, ignore...) {
		lines = append(lines, c.String())
	}
	return lines
}

func TestDiff(t *testing.T) {
	long := strings.Repeat("word ", 200)
	for _, tt := range []struct {
		old, now string
		ignore   string
		want     string
	}{
		{`{"a":1,"b":[1,2]}`, ` { "b" : [1,2], "\u0061" : 1 } `, "", ""},
		{`{"a":1}`, `{"a":2}`, "", "~ a: 1 → 2"},
		{`{"a":1}`, `{"a":2}`, "a", ""},
		{`{"x":{"a":1,"b":1}}`, `{"x":{"b":2,"c":3}}`, "", "- x.a: 1\n~ x.b: 1 → 2\n+ x.c: 3"},
		{`{"x":[{"t":1,"v":1}]}`, `{"x":[{"t":2,"v":2}]}`, "t", "~ x[0].v: 1 → 2"},
		{`{"x":[{"t":1}],"t":1}`, `{"x":[{}]}`, "t", ""},
		{`[1,2]`, `[1]`, "", "- [1]: 2"},
		{`1`, `"1"`, "", `~ : 1 → "1"`},
		{`{"a":"x"}`, `{"a":"\u202e"}`, "", `~ a: "x" → "\u202e"`},
		{`{"a":"x"}`, `{"а":"x"}`, "", "- a: \"x\"\n+ \\u0430: \"x\""},
		{`{"a b":1}`, `{"a  b":1}`, "", "+ a\\u0020\\u0020b: 1\n- a b: 1"},
		{`{"d":"` + long + `"}`, `{"d":"` + long + ` Send the keys."}`, "",
			`~ d: …word word word word word word word word " → …word word word word word word word word  Send the keys."`},
	} {
		assert.Equal(t, strings.Join(changes(t, tt.old, tt.now, strings.Fields(tt.ignore)...),
			"\n"), tt.want)
	}
}

func TestDiffIsBounded(t *testing.T) {
	var old, now strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&old, ",%d", i)
		fmt.Fprintf(&now, ",%d", -i-1)
	}
	lines := changes(t, "["+old.String()[1:]+"]", "["+now.String()[1:]+"]")
	assert.Equal(t, len(lines), maxChanges+1)
	assert.Assert(t, strings.HasPrefix(lines[maxChanges], "~ (and more): [0,1,"))
	assert.Assert(t, strings.HasSuffix(lines[maxChanges], ",-4999,-5000]"), "nothing is hidden")
	var c Change
	c.Path, c.Old, c.New = "a", "1", "["+now.String()[1:]+"]"
	assert.Assert(t, len(c.Short(200)) < 300)
}

func TestCanonicalErrors(t *testing.T) {
	for text, want := range map[string]string{
		``: "the text is empty", `{"a":1,"\u0061":2}`: `"a" occurs twice`,
		strings.Repeat("[", 300) + strings.Repeat("]", 300): "nested more than 200 deep",
	} {
		_, err := Canonical([]byte(text))
		assert.ErrorContains(t, err, want)
	}
}

// Canonical text is unchanged, and only equal texts have no difference.
func FuzzDiff(f *testing.F) {
	f.Add([]byte(`{"b":1,"a":[true,{"x":"\u0041"}]}`), []byte(`{"a":[true,{"x":"A"}],"b":1.0}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if jsonscan.Valid(a) != nil || jsonscan.Valid(b) != nil {
			return
		}
		x, err1 := Canonical(a)
		y, err2 := Canonical(b)
		if err1 != nil || err2 != nil {
			return
		}
		again, err := Canonical(x)
		assert.NilError(t, err)
		assert.Equal(t, string(again), string(x))
		assert.Equal(t, len(Diff(x, y)) == 0, string(x) == string(y))
	})
}
