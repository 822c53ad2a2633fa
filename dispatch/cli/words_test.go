package cli

import (
	"io"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/shellwords"
)

// split splits a text into command lines. The text that is left is what was not read.
func split(text string) (commands []command, left string, err error) {
	in := strings.NewReader(text)
	s := &splitter{in: in}
	for {
		c, err := s.next()
		if err != nil {
			if err == io.EOF {
				err = nil
			} else {
				commands = append(commands, c)
			}
			return commands, text[len(text)-in.Len():], err
		}
		commands = append(commands, c)
	}
}

// What is split here, a shell splits alike.
func TestSplitAsShellsDo(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil && runtime.GOOS == "windows" {
		t.Skip("there is no sh to compare with")
	}
	for _, line := range []string{
		"", " ", "a", "  a\tb  c ", "a=b --c=d", "''", `""`, `a''b""c`, `'a b' "c d"`, `'it'\''s'`,
		`"it's" '"'`, `'a\b\\' "a\b\\c\"d"`, `"\$x \` + "`" + `y"`,
		`a\ b \'c\" \\ \a`, `\#a a#b # a b`, `#`, ` # 'x`, `a # \`, `''#a`, "a\\\nb", "a \\\n b",
		"\\\n#c", "\"a\\\nb\"", "'a\\\nb'", "'a\nb' \"c\n\nd\"", `a"b"'c'\d`, "é 'ü ö' \"\\é\"",
		"{} [x] ^y a,b :c /d @e %f +g -h",
	} {
		t.Run(line, func(t *testing.T) {
			shells, err := exec.Command("sh", "-c", `for word in `+line+
				"\ndo printf '%s\\0' \"$word\"; done").Output()
			assert.NilError(t, err)
			var got string
			commands, _, err := split(line)
			assert.NilError(t, err)
			for _, c := range commands {
				for _, word := range c.words {
					got += word + "\x00"
				}
			}
			assert.Equal(t, got, string(shells))
		})
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// the number of the line, and its words, each in brackets
		{"a b\nc", "1[a][b] 2[c]"},
		{"a\r\nb \r\n", "1[a] 2[b]"},
		{"\n\na\\\nb\n'c\nd' e\nf", "1 2 3[ab] 5[c\nd][e] 7[f]"},
		{"# 'a\nb#c\n", "1 2[b#c]"},
		{"$HOME `x` *.go ~ a;b &c |d <e >f (g)",
			"1[$HOME][`x`][*.go][~][a;b][&c][|d][<e][>f][(g)]"},
		{`"$HOME \x"`, `1[$HOME \x]`},
		{"a\x00b \xff", "1[a\x00b][\xff]"},
		{"a\n'b\n\"c", "1[a] 2 the quote ' is never closed"},
		{"a 'b\n' \"c\n\n", "2 the quote \" is never closed"},
		{"'\\'a'", "1 the quote ' is never closed"},
		{`"\"`, `1 the quote " is never closed`},
		{"a\nb\\", `1[a] 2 nothing follows the last \`},
		{"a \\\n", "1[a]"},
	} {
		t.Run(c.text, func(t *testing.T) {
			commands, _, err := split(c.text)
			var got []string
			for i, c := range commands {
				shown := strings.Repeat(" ", min(i, 1)) + string('0'+rune(c.line))
				for _, word := range c.words {
					shown += "[" + word + "]"
				}
				got = append(got, shown)
			}
			shown := strings.Join(got, "")
			if err != nil {
				_, message, _ := strings.Cut(err.Error(), ": ")
				shown += " " + message
			}
			assert.Equal(t, shown, c.want)
		})
	}
}

// Whatever the text: nothing behind a command line is read with it, lines are counted, quoting what
// was split gives it back, and any words survive being quoted.
func FuzzSplit(f *testing.F) {
	for _, text := range []string{"a b\n'c d' \"e\\\"f\" # g\n\\\nh\\ i\r\n", "'\n\n' \"\\\n\"\n",
		"\"\\x\\$\" ''\n\n\n#", "'", "\\", "a\x00'b\x00\""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in := strings.NewReader(text)
		s := &splitter{in: in}
		for read := 0; ; {
			c, err := s.next()
			chunk := text[read : len(text)-in.Len()]
			assert.Assert(t, c.line >= 1+strings.Count(text[:read], "\n") &&
				c.line <= 1+strings.Count(text, "\n"))
			if read += len(chunk); err != nil {
				assert.Assert(t, in.Len() == 0 || len(chunk) > maxCommand, "%v", err)
				break
			}
			assert.Equal(t, s.line, strings.Count(text[:read], "\n"))
			assert.Assert(t, strings.HasSuffix(chunk, "\n") || in.Len() == 0, "%q", chunk)
			assert.Assert(t, len(strings.Join(c.words, "")) <= len(chunk))
			again(t, c.words)
		}
		again(t, strings.Split(text, "\x00"))
	})
}

// again quotes words, and splits them.
func again(t *testing.T, words []string) {
	t.Helper()
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, shellwords.Quote(word))
	}
	line := strings.Join(quoted, " ")
	if len(line) >= maxCommand {
		return
	}
	commands, left, err := split(line + "\n")
	assert.NilError(t, err)
	assert.Equal(t, left, "")
	assert.Equal(t, len(commands), 1)
	assert.DeepEqual(t, commands[0].words, words)
}
