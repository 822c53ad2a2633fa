package render

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

func TestData(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"null", `null`, ""},
		{"nothing", `{}`, ""},
		{"no rows", `[]`, ""},
		{"string", `"two\nlines"`, "two\nlines\n"},
		{"string that ends", `"two\nlines\n"`, "two\nlines\n"},
		{"empty string", `""`, ""},
		{"number", `1e2`, "1e2\n"},
		{"big number", `9007199254740993`, "9007199254740993\n"},
		{"boolean", `false`, "false\n"},
		{"object", `{"id":7,"name":"Ann","address":null,"tags":[],"more":{},"note":""}`, `
id:       7
name:     Ann
address:  null
tags:     []
more:     {}
note:
`},
		{"long text in an object", `{"id":7,"text":"first\n\n  second\n","size":3,"longer":4}`, `
id:  7
text:
  first

    second
size:    3
longer:  4
`},
		{"objects in objects", `{"a":{"b":{"c":1,"dd":2}},"e":[1,"x",null]}`, `
a:
  b:
    c:   1
    dd:  2
e:
  1
  x
  null
`},
		{"table", `[{"name":"Ann","age":30},{"age":5,"name":"Bob\tB\nC","city":"Oslo"},{"city":"Å","name":"Jürgen"}]`, `
name      age  city
Ann       30
Bob B\nC  5    Oslo
Jürgen         Å
`},
		{"table in an object",
			`{"entries":[{"path":"a","size":1},{"path":"bcd","size":20}],"truncated":false}`, `
entries:
  path  size
  a     1
  bcd   20
truncated:  false
`},
		{"objects that are no rows", `[{"id":1,"tags":["a","b"]},{"id":2,"tags":[]}]`, `
- id:  1
  tags:
    a
    b
- id:    2
  tags:  []
`},
		{"mixed", `[1,"a\nb",{"c":1},[2,3],{}]`, `
- 1
- a
  b
- c:  1
- 2
  3
- {}
`},
		{"more columns than fit",
			`[{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11,"l":12,"m":13}]`, `
- a:  1
  b:  2
  c:  3
  d:  4
  e:  5
  f:  6
  g:  7
  h:  8
  i:  9
  j:  10
  k:  11
  l:  12
  m:  13
`},
		{"rows without columns", `[{},{"a":1}]`, "- {}\n- a:  1\n"},
		{"no objects among objects", `[{"a":1},5]`, "- a:  1\n- 5\n"},
		{"what could act on a terminal", `{"esc\u001b[1m":"\u202e"}`, "esc:  " + `\u202e` + "\n"},
		{"white space", " {\"a\": { },\n\"b\": [ [\n], {\"c\" : 1, \"d\": 2} ] }\n",
			"a:  {}\nb:\n  - []\n  - c:  1\n    d:  2\n"},
		{"too deep", strings.Repeat("[", 17) + `{ "a":["\n"]}` + strings.Repeat("]", 17),
			strings.Repeat("- ", 16) + `{ "a":["\n"]}` + "\n"},
		{"text that begins with a line end", `["\na"]`, "- \n  a\n"},
		{"names that break lines", `{"a\nb":1,"c\td":{"e":2}}`, `
a\nb:  1
c d:
  e:  2
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, note := Data([]byte(c.data), printable.NoTerminal)
			assert.Equal(t, got, strings.TrimPrefix(c.want, "\n"))
			assert.Equal(t, note, "")
		})
	}
}

// On a terminal, long values are wrapped where they begin; elsewhere they are one line.
func TestDataIsWrapped(t *testing.T) {
	const data = `{"id":7,"text":"six times seven is the answer to it all","in":{"deep":` +
		`"six times seven is the answer","list":["six times seven is the answer","uses all of its 26 columns"]},` +
		`"aNameThatIsAsLongAsThis":"six times seven is"}`
	for columns, want := range map[printable.Columns]string{printable.NoTerminal: `
id:    7
text:  six times seven is the answer to it all
in:
  deep:  six times seven is the answer
  list:
    six times seven is the answer
    uses all of its 26 columns
aNameThatIsAsLongAsThis:  six times seven is
`, 30: `
id:    7
text:  six times seven is the
       answer to it all
in:
  deep:  six times seven is
         the answer
  list:
    six times seven is the
      answer
    uses all of its 26 columns
aNameThatIsAsLongAsThis:  six
    times seven is
`} {
		text, _ := Data([]byte(data), columns)
		assert.Equal(t, text, want[1:])
	}
}

func TestDocuments(t *testing.T) {
	for _, c := range []struct {
		name, data          string
		piped, shown, notes string
	}{
		{"text", `{"path":"a","encoding":"text","content":"one\ntwo"}`, "one\ntwo", "one\ntwo\n",
			""},
		{"text with a line end", `{"encoding":"text","content":"one\r\n","truncated":false}`,
			"one\r\n", "one\n", ""},
		{"empty", `{"encoding":"text","content":""}`, "", "", ""},
		{"escape", `{"encoding":"text","content":"\u001b[2J"}`, "\x1b[2J", "", ""},
		{"bytes", `{"encoding":"base64","content":"AP8="}`, "\x00\xff",
			"[2 bytes that are not text]\n", ""},
		{"truncated", `{"encoding":"text","content":"x","truncated":true,"next_line":2,"next_offset":30}`,
			"x", "x\n", "there is more than this: next_line 2, next_offset 30"},
		{"truncated for good", `{"encoding":"text","content":"x","truncated":true}`, "x", "x\n",
			"there is more than this"},
		{"no encoding", `{"content":"x","id":1}`, "content:  x\nid:       1\n",
			"content:  x\nid:       1\n", ""},
		{"other encoding", `{"content":"x","encoding":"gzip"}`, "content:   x\nencoding:  gzip\n",
			"content:   x\nencoding:  gzip\n", ""},
		{"broken base64", `{"content":"?","encoding":"base64"}`,
			"content:   ?\nencoding:  base64\n", "content:   ?\nencoding:  base64\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, note := Data([]byte(c.data), printable.NoTerminal)
			assert.Equal(t, got, c.piped)
			assert.Equal(t, note, c.notes)
			got, note = Data([]byte(c.data), printable.Width)
			assert.Equal(t, got, c.shown)
			assert.Equal(t, note, c.notes)
		})
	}
}

func FuzzData(f *testing.F) {
	f.Add(`{"a":"two\nlines","b":[{"c":1},{"c":"\u001b[1m"}],"d\u202e":[[],{},"x"]}`)
	f.Add(`{"content":"\u0000","encoding":"text","truncated":true,"next_\u001b":"\n"}`)
	f.Fuzz(func(t *testing.T, data string) {
		if jsonscan.Valid([]byte(data)) != nil {
			return
		}
		text, note := Data([]byte(data), printable.Width)
		if printable.Text(text) != text || printable.Line(note) != note {
			t.Fatalf("%q, note %q", text, note)
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			t.Fatalf("no line end: %q", text)
		}
	})
}
