package yaml_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/yaml"
)

func TestToJSON(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"types", "n: -7\nf: 1.50\nplus: +3\nzero: 007\ndot: .5\npoint: 5.\nhex: 0xff\n" +
			"octal: 0o17\nb: True\nno: no\nnone:\ntilde: ~\nversion: 1.2.3\ndate: 2026-07-28\n",
			`{"n":-7,"f":1.50,"plus":3,"zero":7,"dot":0.5,"point":5,"hex":255,"octal":15,` +
				`"b":true,"no":"no","none":null,"tilde":null,"version":"1.2.3",` +
				`"date":"2026-07-28"}`},
		{"order and nesting", "b:\n  y: 1\n  x:\n    - p\n    - q: 1\n      r: 2\n    -\n      s\na: z\n",
			`{"b":{"y":1,"x":["p",{"q":1,"r":2},"s"]},"a":"z"}`},
		{"list at the key's indentation", "tools:\n- Read\n- - a\n  - b\n- k: v\n  l: w\nx: y",
			`{"tools":["Read",["a","b"],{"k":"v","l":"w"}],"x":"y"}`},
		{"empty elements", "a:\n  -\n  - # nothing\n  - b\n", `{"a":[null,null,"b"]}`},
		{"folded plain", "d: one\n  two\n\n  three # end\nx: https://e.com:80/#f a:b\n",
			`{"d":"one two\nthree","x":"https://e.com:80/#f a:b"}`},
		{"single", "a: 'it''s: # no comment'\n'b c': ''\nd: 'x\n\n  y  '\n",
			`{"a":"it's: # no comment","b c":"","d":"x\ny  "}`},
		{"double", `a: "\t\x41\u00e9\U0001F600\uD83D\uDE00\"\\\/"` + "\nb: \"x \\\n  y\n  z\\\n  w\"\n",
			`{"a":"\tAé😀😀\"\\/","b":"x y zw"}`},
		{"literal", "a: |\n  x\n    y\n\n  z\n\nb: |-\n  x\n\nc: |+\n  x\n\nd: |\ne: 1\n",
			`{"a":"x\n  y\n\nz\n","b":"x","c":"x\n\n","d":"","e":1}`},
		{"folded", "a: >\n  x\n  y\n\n  z\n    * p\n\n    * q\n  w\nb: >-\n\n  x\n",
			`{"a":"x y\nz\n  * p\n\n  * q\nw\n","b":"\nx"}`},
		{"flow", "a: [Read, 'b, c', \"d\", {x: 1, \"y\":  [ ]}, ]\nb: {} # none\n",
			`{"a":["Read","b, c","d",{"x":1,"y":[]}],"b":{}}`},
		{"comments, blank lines, CRLF", "# first\r\n\r\na: b # c\r\n  # more\r\nd: |\r\n  x\r\n",
			`{"a":"b","d":"x\n"}`},
		{"keys", "allowed-tools: x\nx y: z\n\"a: b\" : c\nurl:port: d\n",
			`{"allowed-tools":"x","x y":"z","a: b":"c","url:port":"d"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := yaml.ToJSON([]byte(test.text))
			assert.NilError(t, err)
			assert.Equal(t, string(got), test.want)
		})
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "1:1: the document is empty"},
		{"# only\n", "1:1: the document is empty"},
		{"text\n", "1:1: the document must be a mapping"},
		{"- a\n", "1:1: the document must be a mapping"},
		{"a: &x b\n", "1:4: anchors are not supported"},
		{"a: b\nc: *x\n", "2:4: aliases are not supported"},
		{"a: !!str 1\n", "1:4: tags are not supported"},
		{"a: {b: &x c}\n", "1:8: anchors are not supported"},
		{"a: b\n<<: {c: d}\n", "2:1: merge keys are not supported"},
		{"a: 1\nb: 2\na: 3\n", `3:1: the key "a" is there already`},
		{"a: {b: 1, \"b\": 2}\n", `1:14: the key "b" is there already`},
		{"? a\n: b\n", "1:1: complex keys are not supported"},
		{"true: a\n", `1:1: the key "true" is no string`},
		{"a: b\n- c: d\n", "2:1: expected name: value"},
		{"1: a\n", `1:1: the key "1" is no string`},
		{"a: é: c\n", `1:4: a value with ": " in it must be in quotes`},
		{"d: use this: now\n  and then\n", `1:4: a value with ": " in it must be in quotes`},
		{"a: b\n  c: d\n", `2:3: a value that continues on this line cannot have ": "`},
		{"a: - b\n", "1:4: a list cannot start on the line of its key"},
		{"a:\n\t- b\n", "2:1: a tab cannot indent"},
		{"a:\tb\n", "1:3: a tab cannot separate"},
		{"a:\n  b: c\n d: e\n", "3:2: no line above has this indentation"},
		{"a: 'b'\n  c: d\n", "2:3: this line has more indentation"},
		{"  a: b\nc: d\n", "2:1: no line above has this indentation"},
		{"a: [b,\n  c]\n", "1:7: the collection must end on its line"},
		{"a: [b: c]\n", "1:6: a pair in a list needs braces"},
		{"a: {b}\n", "1:6: expected a colon"},
		{"a: [,]\n", "1:5: a value cannot start with ','"},
		{"a: 'b\nc: d\n", "1:4: the value has no closing quote"},
		{"a: \"b\n", "1:4: the value has no closing quote"},
		{"a: 'b' c\n", "1:8: a value ends before this"},
		{"a: \"\\q\"\n", `1:5: the escape \q is not valid`},
		{"a: \"\\ud800\"\n", `the escape \ud800 is not valid`},
		{"a: \"b\\\n\n  c\"\n", "3:3: an empty line cannot follow a backslash"},
		{"a: |2\n   b\n", "1:5: indentation indicators are not supported"},
		{"a: | b\n", "1:5: the text starts on the next line"},
		{"a: |\n     \n  b\n", "2:3: this empty line has more spaces"},
		{"a: b\n---\nc: d\n", "2:1: only one document"},
		{"%YAML 1.2\na: b\n", "1:1: the document must be a mapping"},
		{"a: .inf\n", "1:4: JSON has no number .inf"},
		{"a: 1e999\n", "1:4: the number 1e999 is too large"},
		{"a: @b\n", "1:4: a value cannot start with '@'"},
		{"a: b\xff\n", "1:5: this is not UTF-8"},
		{"a: b\x00\n", "1:5: the character U+0000 is not allowed"},
		{"\ufeffa: b\n", "1:1: the character U+FEFF is not allowed"},
		{"a: " + strings.Repeat("[", yaml.MaxDepth) + "\n", "collections are nested more than 32 deep"},
		{"a: " + strings.Repeat("x", yaml.MaxBytes), "1:1: the document has 65539 bytes"},
	} {
		_, err := yaml.ToJSON([]byte(test.text))
		assert.ErrorContains(t, err, test.want, "%.60q", test.text)
		_, ok := errors.AsType[*yaml.Error](err)
		assert.Assert(t, ok)
	}
}

// Documents of almost the maximum size are read.
func TestLongDocuments(t *testing.T) {
	for name, text := range map[string]string{
		"keys":   repeat("k%d: v\n", 6000),
		"quoted": "a: \"" + repeat("\n  x%d", 6000) + "\"\n",
		"plain":  "a: x" + repeat("\n  x%d", 6000) + "\n",
		"blank":  "a: |\n" + strings.Repeat("\n", 50_000),
		"flow":   "a: [" + repeat("%d,", 8000) + "]\n",
	} {
		got, err := yaml.ToJSON([]byte(text))
		assert.NilError(t, err, name)
		assert.Assert(t, json.Valid(got), name)
	}
}

func repeat(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// For every document, the result is an error or a JSON object.
func FuzzToJSON(f *testing.F) {
	for _, seed := range []string{"a: b", "a:\n- b\n- c: d\n  e: [f, {g: 1}]", "a: |\n  b\n c",
		"a: >-\n\n  b\n   c\n\n  d", "a: \"\\u00e9\n  b\\\n  c\"", "'a': 'b''c\n  d'", "a: b\n  c #d\n e"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := yaml.ToJSON(text)
		if err != nil {
			e, ok := errors.AsType[*yaml.Error](err)
			assert.Assert(t, ok)
			assert.Assert(t, e.Line >= 1 && e.Column >= 1, "%v", err)
			assert.Assert(t, got == nil)
			return
		}
		var object map[string]any
		assert.NilError(t, json.Unmarshal(got, &object), "%s", got)
	})
}
