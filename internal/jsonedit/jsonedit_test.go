package jsonedit

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

func TestStripComments(t *testing.T) {
	for _, tt := range []struct{ in, out string }{
		{`{"a":1}`, `{"a":1}`},
		{"\xEF\xBB\xBF{}", "   {}"},
		{"// x\n{}", "    \n{}"},
		{"{} // x", "{}     "},
		{"{/* a\nb */}", "{    \n    }"},
		{`{"a":"// no"}`, `{"a":"// no"}`},
		{`{"a":"\"/*"}`, `{"a":"\"/*"}`},
		{`[1,]`, `[1 ]`},
		{`[1, // x` + "\n" + `]`, `[1      ` + "\n" + `]`},
		{`{"a":[1,],}`, `{"a":[1 ] }`},
		{`["a",]`, `["a" ]`},
		{`[[],{},]`, `[[],{} ]`},
		{"{}//", "{}  "},
		{"{//\r\n}", "{   \n}"},
		// These stay wrong.
		{`[,]`, `[,]`}, {`{,}`, `{,}`}, {`[1,,]`, `[1,,]`}, {`{"a":,}`, `{"a":,}`},
		{`[1,2`, `[1,2`}, {`,]`, `,]`},
	} {
		got, err := stripComments([]byte(tt.in))
		assert.NilError(t, err, tt.in)
		if tt.in == "{//\r\n}" {
			tt.out = "{  \r\n}"
		}
		assert.Equal(t, string(got), tt.out)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, tt := range []struct{ in, err string }{
		{"{\n  \"a\": 1\n  \"b\": 2\n}", "f.json:3:3: expected ',' or '}' after a member"},
		{`{"a" 1}`, "f.json:1:6: expected ':' after a member name"},
		{`{a: 1}`, "f.json:1:2: expected a member name in quotation marks"},
		{`{'a': 1}`, `f.json:1:2: strings must be in double quotes: "…"`},
		{`{"a": 'x'}`, `f.json:1:7: strings must be in double quotes: "…"`},
		{`{"ä": é}`, `f.json:1:7: 'é' cannot start a value`},
		{"{\n/* x", "f.json:2:1: a comment has no end; write */ after it"},
		{"{} / x", "f.json:1:4: '/' starts no comment here; write // or /*"},
		{"{} {}", "f.json:1:4: there is text after the end of the value"},
		{"{\"a\": \"b\nc\"}", "f.json:1:9: control character 0x0a in a string; it must be escaped"},
		{`[,]`, "f.json:1:2: ',' cannot start a value"},
		{`{"a":,}`, "f.json:1:6: ',' cannot start a value"},
		{`{"a":1,,}`, "f.json:1:8: expected a member name in quotation marks"},
		{"\xFF\xFE{\x00}\x00", "f.json:1:1: the file is UTF-16; save it as UTF-8"},
		{strings.Repeat("[", 101) + strings.Repeat("]", 101), "f.json:1:101: nested too deeply"},
		{strings.Repeat(" ", MaxText+1), "f.json:1:1: the file has more than 4 MiB"},
		{`{"a":"` + "\xff" + `"}`, "f.json:1:7: a string is not UTF-8"},
	} {
		_, err := ParseJSON("f.json", []byte(tt.in))
		assert.Error(t, err, tt.err)
	}
	for _, in := range []string{"", " \n", "// nothing", "\xEF\xBB\xBF", strings.Repeat("[", 100) +
		strings.Repeat("]", 100)} {
		_, err := ParseJSON("f.json", []byte(in))
		assert.NilError(t, err, "%.20q", in)
	}
}

// Whatever a file has in it: what is taken for JSON is that, everything stands where it stood, and
// nothing but blanks has changed.
func FuzzStripComments(f *testing.F) {
	for _, seed := range []string{
		"\xEF\xBB\xBF{ // c\n\"a\": [1, 2,], /* d */ \"b\": {\"c\": \"/*\\\"\",},}", "", "[,]",
		"//", "/*", `{"mcpServers":{"a":{"command":["x"]}}}`, "[1,/**/]", `"\u12`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		stripped, err := stripComments(data)
		if err == nil {
			if len(stripped) != len(data) {
				t.Fatalf("%q became %q", data, stripped)
			}
			for i := range stripped {
				if stripped[i] != data[i] && stripped[i] != ' ' {
					t.Fatalf("%q became %q", data, stripped)
				}
			}
			if json.Valid(data) && jsonscan.Valid(data) == nil && string(stripped) != string(data) {
				t.Fatalf("JSON was changed: %q became %q", data, stripped)
			}
		}
		text, err := ParseJSON("f", data)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Line < 1 || e.Column < 1 || e.Reason == "" {
				t.Fatalf("%#v", err)
			}
			// What is refused although encoding/json takes it is not UTF-8, has half a character,
			// or is too deep.
			if stripped != nil && json.Valid(stripped) && utf8.Valid(stripped) &&
				!strings.Contains(err.Error(), "surrogate") &&
				!strings.Contains(err.Error(), "deeply") {
				t.Fatalf("refuses %q: %v", data, err)
			}
			return
		}
		root, ok := text.Root()
		if !ok {
			return
		}
		if !json.Valid(text.Data) {
			t.Fatalf("takes %q", data)
		}
		walk(t, root)
	})
}

// walk compares all there is with what encoding/json finds.
func walk(t *testing.T, v Value) {
	var elements []json.RawMessage
	if v.IsArray() && json.Unmarshal(v.JSON(), &elements) == nil {
		got := v.Elements()
		if len(got) != len(elements) {
			t.Fatalf("%d elements in %q", len(got), v.JSON())
		}
		for i := range got {
			if string(got[i].JSON()) != string(elements[i]) {
				t.Fatalf("%q has the element %q", v.JSON(), got[i].JSON())
			}
			walk(t, got[i])
		}
	}
	for _, m := range v.Members() {
		if m.Data[m.Offset] != '"' || !json.Valid(m.JSON()) {
			t.Fatalf("%q has the member %q", v.JSON(), m.JSON())
		}
		walk(t, m.Value)
	}
}
