package lineedit

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

var codeNames = map[code]string{
	ignored: "-", enter: "enter", tab: "tab", escape: "escape", backspace: "backspace", del: "del",
	up: "up", down: "down", left: "left", right: "right", home: "home",
	end: "end", wordLeft: "wordLeft", wordRight: "wordRight", wordDelete: "wordDelete",
	pasteStart: "paste(", pasteEnd: ")",
}

func (k key) String() string {
	text := codeNames[k.code]
	switch k.code {
	case character:
		text = string(k.r)
	case control:
		text = "^" + string(k.r)
	case pasted:
		text = fmt.Sprintf("%q", k.text)
	}
	if k.alt {
		text = "alt-" + text
	}
	return text
}

// decodeAll decodes chunks of input, of which the last is final. It joins the parts of a paste.
func decodeAll(t *testing.T, pieces ...string) string {
	var d decoder
	var in []byte
	var keys []key
	drain := func(final bool) {
		for {
			k, n := d.decode(in, final)
			assert.Assert(t, n >= 0 && n <= len(in), "%q: %d", in, n)
			if n == 0 {
				return
			}
			in = in[n:]
			if last := len(keys) - 1; k.code == pasted && last >= 0 && keys[last].code == pasted {
				keys[last].text += k.text
			} else if k != (key{}) {
				keys = append(keys, k)
			}
		}
	}
	for _, piece := range pieces {
		in = append(in, piece...)
		drain(false)
		assert.Assert(t, len(in) <= maxSequence, "%q is still not decoded", in)
	}
	drain(true)
	assert.Assert(t, len(in) == 0 || d.pasting, "%q is not decoded", in)
	var names []string
	for _, k := range keys {
		names = append(names, k.String())
	}
	return strings.Join(names, " ")
}

func TestKeys(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"aä字", "a ä 字"},
		{"\r\n\t\x7f\b", "enter enter tab backspace backspace"},
		{"\x01\x1a", "^a ^z"},
		{"\xff\xe2\x28", "\uFFFD \uFFFD ("},
		{"\xe2\x82", "\uFFFD \uFFFD"},
		{"\x1b", "escape"},
		{"\x1b\x1b[A", "escape up"},
		{"\x1bb\x1bB\x1b\x7f\x1bé", "alt-b alt-B alt-backspace alt-é"},
		{"\x1b[A\x1b[B\x1b[C\x1b[D\x1b[H\x1b[F", "up down right left home end"},
		{"\x1bOA\x1bOB\x1bOC\x1bOD\x1bOH\x1bOF", "up down right left home end"},
		{"\x1b[1~\x1b[7~\x1b[4~\x1b[8~\x1b[3~", "home home end end del"},
		{"\x1b[1;5C\x1b[1;5D\x1b[1;3C\x1b[1;3D\x1b[3;5~\x1b[1;2C\x1b[1;5A",
			"wordRight wordLeft wordRight wordLeft wordDelete right up"},
		{"\x1b[Za\x1b[15~b\x1bOPc\x1b[[Ad\x1b[?1;2ce\x1b[<0;1;1Mf", "a b c d e f"},
		{"\x1b[", "alt-["},
		{"\x1bO", "alt-O"},
		{"\x1b[[", ""},
		{"\x1b[12", ""},
		{"\x1b[1\ra", "enter a"},
		{"\x1b[1é", "é"},
		{"\x1b[" + strings.Repeat("1", 100) + "A", strings.TrimSpace(strings.Repeat("1 ", 38)) +
			" A"},
		{"\x1b[200~a\r\nb\x1b[Cä\x1b[201~c", `paste( "a\r\nb\x1b[Cä" ) c`},
		{"\x1b[200~\x1b[201~", "paste( )"},
		{"\x1b[200~a\x1b[200~b\x1b[201~", `paste( "a\x1b[200~b" )`},
		{"\x1b[200~lost\x03\x03", `paste( "lost" ^c ^c`},
	} {
		assert.Equal(t, decodeAll(t, c.in), c.want, "%q", c.in)
		assert.Equal(t, decodeAll(t, strings.Split(c.in, "")...), c.want, "%q, one by one", c.in)
	}
}

// The keys do not depend on the chunks; no byte is decoded twice, and the decoder waits for no
// optional byte.
func FuzzKeys(f *testing.F) {
	for _, text := range []string{"aä\x1b[1;5C\x1b[200~x\r\n\x1b[201~\x03",
		"\x1bOA\x1b\x1b[[A\xff\xe2\x82", "\x1b[200~\xe2\x82\r\x1b[201\x03", "\x1b[\x1b[1;"} {
		f.Add(text, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		var pieces []string
		for rest := text; rest != ""; {
			n := min(len(rest), int(size)+1)
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		assert.Equal(t, decodeAll(t, text), decodeAll(t, pieces...))
	})
}
