package toml

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ document, want string }{
		{"", `{}`}, {"\xEF\xBB\xBFa = 1", `{"a":1}`}, {"# only a comment", `{}`},
		{"a = 1\r\nb = 2 # two\r\n", `{"a":1,"b":2}`},
		{`"quoted key" = 'x' ` + "\n" + `'a.b' = 1` + "\n" + `"" = 2`, `{"quoted key":"x","a.b":1,"":2}`},
		{"a.b.c = 1\na . d = 2", `{"a":{"b":{"c":1},"d":2}}`},
		{"1.2 = 3", `{"1":{"2":3}}`},
		{"[a.b]\nc = 1\n[a]\nd = 2", `{"a":{"b":{"c":1},"d":2}}`},
		{"[ a . 'b' ]", `{"a":{"b":{}}}`},
		{"[[a]]\nb = 1\n[a.c]\nd = 2\n[[a]]", `{"a":[{"b":1,"c":{"d":2}},{}]}`},
		{"[fruit]\napple.color = 1\n[fruit.apple.texture]\nsmooth = true",
			`{"fruit":{"apple":{"color":1,"texture":{"smooth":true}}}}`},
		{"a = {}\nb = { x = 1, y.z = 'q' , y.w = 2 }", `{"a":{},"b":{"x":1,"y":{"z":"q","w":2}}}`},
		{"a = [\n 1, # one\n [ 'x', ],\n {b = 2},\n]", `{"a":[1,["x"],{"b":2}]}`},
		{`a = "\b\t\n\f\r\"\\\u00e9\U0001F600"`, `{"a":"\u0008\t\n\u000c\r\"\\é😀"}`},
		{`a = 'C:\Users\x'`, `{"a":"C:\\Users\\x"}`},
		{"a = \"\"\"\nx\r\ny \\\n\n   z\"\"\"", `{"a":"x\ny z"}`},
		{`a = """""two"""""` + "\nb = ''''one'\n''''", `{"a":"\"\"two\"\"","b":"'one'\n'"}`},
		{`a = """"""`, `{"a":""}`},
		{"a = [+1, -1, 0, +0, -0, 1_000, 0xdead_BEEF, 0o755, 0b1_0]",
			`{"a":[1,-1,0,0,0,1000,3735928559,493,2]}`},
		{"a = [1.5, -0.5, 1e5, 1_0.2_5E-1_0, +1.0]", `{"a":[1.5,-0.5,1e5,10.25E-10,1.0]}`},
		{"a = [inf, -inf, +nan]", `{"a":["inf","-inf","+nan"]}`},
		{"a = 9223372036854775807", `{"a":9223372036854775807}`},
		{"a = [1979-05-27T07:32:00Z, 1979-05-27 07:32:00.25-07:00, 1979-05-27t07:32:00, 1979-05-27, 07:32:00]",
			`{"a":["1979-05-27T07:32:00Z","1979-05-27 07:32:00.25-07:00","1979-05-27t07:32:00","1979-05-27","07:32:00"]}`},
		{"a = 1979-05-27 # day", `{"a":"1979-05-27"}`},
		{"true = false", `{"true":false}`},
	} {
		d, err := Parse([]byte(tt.document))
		assert.NilError(t, err, tt.document)
		assert.Equal(t, string(d.JSON), tt.want, tt.document)
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		document string
		offset   int
		reason   string
	}{
		{"a", 1, "'=' is missing before the end of the file"},
		{"a =", 3, "a value is missing before the end of the file"},
		{"a = \n", 4, "a value is missing before the end of the line"},
		{"a = x", 4, `"x" is not a value; text must be in quotation marks`},
		{"a = 1 b = 2", 6, "a line end is missing before 'b'"},
		{"a = 1\na = 2", 6, `"a" is already defined`},
		{"a = 1\n[a]", 7, `"a" is already defined`},
		{"[a]\n[a]", 5, `"a" is already defined`},
		{"a.b = 1\n[a]", 9, `"a" is already defined`},
		{"[a.b]\n[a]\nb.c = 1", 10, `the table "b" is already defined`},
		{"[a]\nb.c = 1\n[x]\n[a.b]", 19, `"b" is already defined`},
		{"a = {b = 1}\na.c = 1", 12, `the table "a" is already defined`},
		{"a = {b = 1}\n[a.c]", 13, `"a" is an inline table, which cannot be extended`},
		{"a = 1\na.c = 1", 6, `"a" is not a table`},
		{"a = 1\n[a.c]", 7, `"a" is not a table`},
		{"a = []\n[[a]]", 9, `"a" is already defined`},
		{"[[a]]\n[a]", 7, `"a" is already defined`},
		{"[a", 2, "']' is missing before the end of the file"},
		{"[[a] ]", 4, "']' is missing before ' '"},
		{"[]", 1, "a key is missing before ']'; a key has letters, digits, '_' and '-', or quotation marks around it"},
		{"é = 1", 0, "a key is missing before 'é'; a key has letters, digits, '_' and '-', or quotation marks around it"},
		{"a. = 1", 3, "a key is missing before '='; a key has letters, digits, '_' and '-', or quotation marks around it"},
		{"\"\"\"a\"\"\" = 1", 0, "a key cannot have several lines"},
		{"a = \"x", 4, "a string has no end"},
		{"a = \"x\ny\"", 4, "a string has no end on its line"},
		{`a = "\x"`, 5, "an unknown escape in a string"},
		{`a = "\u12"`, 5, `\u must be followed by 4 hexadecimal digits`},
		{`a = "\uD800"`, 5, "the escape is not the code of a character"},
		{"a = \"\x01\"", 5, "control character 0x01 in a string; it must be escaped"},
		{"a = '\xff'", 5, "a string is not UTF-8"},
		{"# \x00", 2, "control character 0x00 in a comment; it must be escaped"},
		{"# a\rb", 3, "control character 0x0d in a comment; it must be escaped"},
		{"a = 1\rb = 2", 5, "a line end is missing before the end of the line"},
		{"a = '''x''''''", 13, "a line end is missing before '\\''"},
		{"a = [1 2]", 7, "',' or ']' is missing before '2'"},
		{"a = [1,,2]", 7, "a value is missing before ','"},
		{"a = {b = 1\n}", 10, "',' or '}' of an inline table is missing before the end of the line"},
		{"a = {b = 1,}", 11, "a key is missing before '}'; a key has letters, digits, '_' and '-', or quotation marks around it"},
		{"a = {b = 1, b = 2}", 12, `"b" is already defined`},
		{"a = 01", 4, `"01" is not a value; text must be in quotation marks`},
		{"a = 1__0", 4, `"1__0" is not a value; text must be in quotation marks`},
		{"a = 1.", 4, `"1." is not a value; text must be in quotation marks`},
		{"a = .5", 4, `".5" is not a value; text must be in quotation marks`},
		{"a = +0x1", 4, `"+0x1" is not a value; text must be in quotation marks`},
		{"a = 9223372036854775808", 4, "the number does not fit in 64 bits; write it as a string"},
		{"a = 1979-02-30", 4, `"1979-02-30" is not a value; text must be in quotation marks`},
		{"a = 1979-05-27T25:00:00", 4, `"1979-05-27T25:00:00" is not a value; text must be in quotation marks`},
		{"a = 07:32:00Z", 4, `"07:32:00Z" is not a value; text must be in quotation marks`},
		{"a = " + strings.Repeat("[", 101), 104, "nested more than 100 deep"},
		{strings.Repeat("a.", 100) + "a = 1", 200, "nested more than 100 deep"},
		{"a = " + strings.Repeat("{a=", 101), 302, "nested more than 100 deep"},
		{"a = [" + strings.Repeat("1,", MaxValues) + "]", 5 + 2*(MaxValues-1), "the file has more than 262144 values"},
	} {
		_, err := Parse([]byte(tt.document))
		var e *Error
		assert.Assert(t, errors.As(err, &e), "%.100s", tt.document)
		assert.Equal(t, e.Reason, tt.reason, "%.100s", tt.document)
		assert.Equal(t, e.Offset, tt.offset, "%.100s", tt.document)
	}
}

// Offset returns the offsets of names and values in the document.
func TestOffset(t *testing.T) {
	const document = "# x\n[servers.a]\ncommand = 'run' # it\nargs = [\n  'x',\n]\n"
	d, err := Parse([]byte(document))
	assert.NilError(t, err)
	for json, toml := range map[string]string{`"servers"`: "servers", `"a"`: "a]",
		`"command"`: "command", `"run"`: "'run'", `["x"`: "[\n", `"x"`: "'x'"} {
		assert.Equal(t, d.Offset(strings.Index(string(d.JSON), json)),
			strings.Index(document, toml), json)
	}
	assert.Equal(t, d.Offset(len(d.JSON)), len(document))
	assert.DeepEqual(t, d.Statements, []Statement{
		{[]string{"servers", "a"}, true, 4, 15},
		{[]string{"servers", "a", "command"}, false, 16, 31},
		{[]string{"servers", "a", "args"}, false, 37, 54},
	})
}

func TestAppend(t *testing.T) {
	for _, s := range []string{"", "a-b_1", "a.b", "\"\\\n\r\t\x00\x7f", "é😀", "\xff"} {
		document := append(append(AppendKey(nil, s), " = "...), AppendString(nil, s)...)
		d, err := Parse(document)
		assert.NilError(t, err, "%s", document)
		s = strings.ToValidUTF8(s, "\uFFFD")
		for name, value := range jsonscan.Members(d.JSON) {
			key, _ := jsonscan.Text(name)
			text, _ := jsonscan.Text(value)
			assert.Equal(t, key, s)
			assert.Equal(t, text, s)
		}
	}
}

// Every valid document becomes valid JSON, with statements that do not overlap.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"[a.b]\nc = 1 # x\n[[d]]\ne = {f = 'g', h.i = [1, 2.5, inf]}\n",
		"a = \"\"\"x\\\n  y\"\"\"\nb = '''z'''\nc = 1979-05-27 07:32:00Z\r\n",
		"\xEF\xBB\xBF\"k\\u00e9y\".x = [\n true, # y\n]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Offset < 0 || e.Offset > len(data) || e.Reason == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		if !utf8.Valid(data) {
			t.Fatalf("%q is not UTF-8", data)
		}
		if err := jsonscan.Valid(d.JSON); err != nil {
			t.Fatalf("%q became %q: %v", data, d.JSON, err)
		}
		end := 0
		for _, s := range d.Statements {
			if s.Start < end || s.End <= s.Start || s.End > len(data) || len(s.Path) == 0 {
				t.Fatalf("%q: %+v", data, s)
			}
			end = s.End
		}
		last := 0
		for _, m := range d.marks {
			if m.json < last || m.toml < 0 || m.toml > len(data) {
				t.Fatalf("%q: %+v", data, m)
			}
			last = m.json
		}
	})
}
