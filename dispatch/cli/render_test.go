package cli_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch/cli"
)

func TestText(t *testing.T) {
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
		{"table in an object", `{"entries":[{"path":"a","size":1},{"path":"bcd","size":20}],"truncated":false}`, `
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
		{"more columns than fit", `[{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11,"l":12,"m":13}]`, `
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
		{"text that begins with a line end", `["\na"]`, "- \n  a\n"},
		{"names that break lines", `{"a\nb":1,"c\td":{"e":2}}`, `
a\nb:  1
c d:
  e:  2
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, nil, "test", "print", "--data:="+c.data)
			assert.Equal(t, r.out, strings.TrimPrefix(c.want, "\n"))
			assert.Equal(t, r.code, 0)
		})
	}
}

func TestDocuments(t *testing.T) {
	onTerminal := func(std *cli.IO) { std.OutTerminal = true }
	for _, c := range []struct {
		name, data          string
		piped, shown, notes string
	}{
		{"text", `{"path":"a","encoding":"text","content":"one\ntwo"}`, "one\ntwo", "one\ntwo\n", ""},
		{"text with a line end", `{"encoding":"text","content":"one\r\n","truncated":false}`, "one\r\n", "one\n", ""},
		{"empty", `{"encoding":"text","content":""}`, "", "", ""},
		{"escape", `{"encoding":"text","content":"\u001b[2J"}`, "\x1b[2J", `\u001b[2J` + "\n", ""},
		{"bytes", `{"encoding":"base64","content":"AP8="}`, "\x00\xff", "[2 bytes that are not text]\n", ""},
		{"truncated", `{"encoding":"text","content":"x","truncated":true,"next_line":2,"next_offset":30}`, "x", "x\n", "notes: test print: there is more than this: next_line 2, next_offset 30\n"},
		{"truncated for good", `{"encoding":"text","content":"x","truncated":true}`, "x", "x\n", "notes: test print: there is more than this\n"},
		{"no encoding", `{"content":"x","id":1}`, "content:  x\nid:       1\n", "content:  x\nid:       1\n", ""},
		{"other encoding", `{"content":"x","encoding":"gzip"}`, "content:   x\nencoding:  gzip\n", "content:   x\nencoding:  gzip\n", ""},
		{"broken base64", `{"content":"?","encoding":"base64"}`, "content:   ?\nencoding:  base64\n", "content:   ?\nencoding:  base64\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, nil, "test", "print", "--data:="+c.data)
			assert.Equal(t, r.out, c.piped)
			assert.Equal(t, r.err, c.notes)
			assert.Equal(t, run(t, onTerminal, "test", "print", "--data:="+c.data).out, c.shown)
		})
	}
}
