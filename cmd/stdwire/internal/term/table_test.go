package term

import (
	"bytes"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestTable(t *testing.T) {
	rows := [][]string{{"名前", "ok", "a\x1b[31m"}, {"x", "broken", "some words that are many"},
		{"", "", ""}, {"last"}}
	for _, c := range []struct {
		display Display
		want    string
	}{
		{Display{}, "名前    ok      a\nx     broken  some words that are many\n\nlast\n"},
		{Display{Terminal: true, Color: true, Width: func() int { return 36 }},
			"名前  \x1b[32mok\x1b[0m      a\n" +
				"x     \x1b[31mbroken\x1b[0m  some words that are\n              many\n\nlast\n"},
		{Display{Terminal: true, Width: func() int { return 30 }},
			"名前  ok      a\nx     broken  some words that are many\n\nlast\n"},
	} {
		var b bytes.Buffer
		o := NewOutput(&b, c.display)
		o.PrintTable(rows, 1)
		assert.NilError(t, o.Flush())
		assert.Equal(t, b.String(), c.want)
	}
}

// A server cannot choose colours, neither by escape sequences nor by what it calls things.
func TestColorsAreOurs(t *testing.T) {
	var b bytes.Buffer
	o := NewOutput(&b, Display{Terminal: true, Color: true})
	o.PrintDiff("+ \x1b[31mred\x1b[0m\n@@ a  b\n")
	o.PrintState("error\x1b[32m: x\n")
	o.PrintJSON([]byte("[\"\x1b[31m\"]"))
	assert.NilError(t, o.Flush())
	assert.Equal(t, b.String(), "\x1b[32m+ red\x1b[0m\n\x1b[36m@@ a  b\x1b[0m\n"+
		"error: x\n[\x1b[32m\"\\u001b[31m\"\x1b[0m]\n")

	b.Reset()
	c := &Console{W: &b, Display: o.Display}
	c.Printf("%s", "error: of a server")
	c.Printf("warning: %s", "\x1b[31mred")
	assert.Equal(t, b.String(), "error: of a server\n\x1b[33mwarning\x1b[0m: red\n")
}

// The width of a terminal may change between two updates of the status.
func TestStatusIsAsWideAsTheTerminal(t *testing.T) {
	var b bytes.Buffer
	width := 60
	c := &Console{W: &b, Display: Display{Terminal: true, Width: func() int { return width }}}
	c.Status(strings.Repeat("x", 100))
	width = 40
	c.Status("done")
	assert.Equal(t, b.String(), strings.Repeat("x", 58)+"…\r\x1b[1A\x1b[Jdone")
}
