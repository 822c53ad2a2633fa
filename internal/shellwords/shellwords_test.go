package shellwords

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// What a shell makes of a line is tested where command lines are run, in dispatch/cli. Here it is
// where the words stood, and what is left open.
func TestSplitter(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"a  bc ", "a@0 bc@3"},
		{`a="x y"z '' \ b`, `a=x yz@0 @9  b@12`},
		{"a\nb", "a@0 ; b@2"},
		{"\\\nab\\\nc", "abc@2"},
		{"a # b\nc#", "a@0 ; c#@6"},
		{"é ü", "é@0 ü@3"},
		{"a 'b c", "a@0 b c@2 open '"},
		{`"a\"`, `a"@0 open "`},
		{`"\`, `@0 open "`},
		{`\`, `open \`},
		{`a\`, `a@0 open \`},
		{"a# #", "a#@0 comment"},
	} {
		var s Splitter
		got, count := "", 0
		words := func() {
			for _, w := range s.Words()[count:] {
				if got != "" {
					got += " "
				}
				got += fmt.Sprintf("%s@%d", w.Text, w.Start)
				count++
			}
		}
		for i := range len(c.text) {
			if s.Add(c.text[i]) {
				words()
				got += " ;"
			}
		}
		open, comment := s.Open(), s.InComment()
		words()
		if open != 0 {
			if got != "" {
				got += " "
			}
			got += "open " + string(open)
		}
		if comment {
			got += " comment"
		}
		assert.Equal(t, got, c.want, c.text)
	}
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"": `""`, "a-b/c.d": "a-b/c.d", "a b": `"a b"`, "it's": `"it's"`, "é": `"é"`, "{}": `"{}"`,
		`C:\Program Files\x.json`: `"C:\Program Files\x.json"`, // for cmd.exe, too
		`\\server\share`:          `'\\server\share'`, `C:\a b\`: `'C:\a b\'`,
		"a\nb": "'a\nb'", "$HOME": "'$HOME'", "%PATH%": "'%PATH%'", "a!": "'a!'", "`x`": "'`x`'",
		`"it's"`: `'"it'\''s"'`, "“x”": "'“x”'",
	} {
		assert.Equal(t, Quote(word), want)
		var s Splitter
		for _, b := range []byte(want) {
			s.Add(b)
		}
		words := s.Words()
		assert.Assert(t, len(words) == 1 && words[0].Text == word, "%q", words)
	}
}

func TestNative(t *testing.T) {
	for line, want := range map[string][2]string{ // elsewhere, and on Windows
		`C:\x\y.exe -a`:        {`C:xy.exe|-a`, `C:\x\y.exe|-a`},
		`"C:\a b" '\c' "it's"`: {`C:\a b|\c|it's`, `C:\a b|\c|it's`},
		`"C:\a b\"`:            {`C:\a b"`, `C:\a b\`},
		`\\host\share a\ b`:    {`\hostshare|a b`, `\\host\share|a\|b`},
	} {
		s := Native()
		for i := range len(line) {
			s.Add(line[i])
		}
		var got []string
		for _, word := range s.Words() {
			got = append(got, word.Text)
		}
		which := 0
		if filepath.Separator == '\\' {
			which = 1
			assert.Equal(t, s.Open(), byte(0), line)
		}
		assert.Equal(t, strings.Join(got, "|"), want[which], line)
	}
}
