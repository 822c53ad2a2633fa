package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
)

func TestRead(t *testing.T) {
	t.Parallel()
	assert.Equal(t, against(t, "read file:///notes.md", "library"), ran{0, "# \x1b[1mNotes\n", ""})
	assert.Equal(t, onTerminal(t, "", "read file:///notes.md", "library"), ran{0, "# Notes\n", ""})
	assert.Equal(t, against(t, "read file:///logo.png", "library"),
		ran{0, "[resource file:///logo.png image/png 4 B → --save DIR]\n", ""})
	assert.Equal(t, against(t, "read file:///logo.png file:///notes.md", "library").stdout,
		"==> file:///logo.png <==\n[resource file:///logo.png image/png 4 B → --save DIR]\n==> file:///notes.md <==\n# \x1b[1mNotes\n")
	assert.Equal(t, against(t, "read file:///folder", "library").stdout,
		"==> file:///folder/a <==\nA\n==> file:///folder/b <==\n[resource file:///folder/b 2 B → --save DIR]\n")
	assert.Equal(t, against(t, "read file:///none", "library"),
		ran{0, "", "file:///none: it is empty\n"})

	assert.Equal(t, against(t, "read -o json file:///logo.png file:///notes.md", "library").stdout,
		libraryLogo+"\n"+libraryNotes+"\n", "byte by byte")

	assert.Equal(t, against(t, "read -o raw file:///logo.png", "library"), ran{0, "\x89PNG", ""})
	assert.Equal(t, against(t, "read -o raw file:///folder file:///notes.md", "library"),
		ran{0, "A\n\x00\x01# \x1b[1mNotes", ""})
	assert.Equal(t, onTerminal(t, "", "read -o raw file:///notes.md", "library"),
		ran{0, "# Notes\n", ""})
	got := onTerminal(t, "", "read -o raw file:///folder", "library")
	got.stderr = joinLines(got.stderr)
	assert.Equal(t, got, ran{2, "A\n",
		"stdwire: " + self +
			": read: resource file:///folder/b: a terminal cannot show its 2 B\nhint: redirect the output with > FILE, or save the content with --save DIR\n"})
}

func TestReadFailures(t *testing.T) {
	t.Parallel()
	const lists = "hint: there are file:///logo.png, file:///notes.md, and those of stdwire ls templates\n"
	for _, tt := range []struct {
		args, fixture string
		code          int
		stderr        string
	}{
		{"read file:///nots.md", "library", 5, "stdwire: " + self +
			": file:///nots.md: Resource not found (code -32002)\nhint: did you mean file:///notes.md?\n"},
		{"read what:///ever", "library", 5, "stdwire: " + self +
			": what:///ever: Resource not found (code -32002)\n" + lists},
		{"read file:///refused", "library", 5, "stdwire: " + self +
			": file:///refused: not today (code -32000)\n"},
		{"read x:y", "good", 5, "stdwire: " + self + ": read: the server has no resources\n"},
		{"read --watch x:y", "good", 5, "stdwire: " + self +
			": resources/subscribe: the server has no way to tell of changes\n"},
		{"read count:1", "library", 6, "stdwire: " + self +
			": count:1: exited with status 7: \"worn out\"\n"},
		{"read", "library", 2,
			"stdwire: read: which resource?\nhint: stdwire ls resources lists them\n"},
		{"prompt", "library", 2,
			"stdwire: prompt: which prompt?\nhint: stdwire ls prompts lists them\n"},
		{"prompt gret", "library", 5, "stdwire: " + self +
			": gret: there is no such prompt; there are greet, empty\nhint: did you mean greet?\n"},
		{"prompt greet style=x", "library", 2, "stdwire: " + self +
			": greet: missing arguments: name, city\nhint: greet(name, city, [style])\n"},
		{"prompt greet name=a city=b stile=x", "library", 2, "stdwire: " + self +
			": greet: there is no argument \"stile\"\nhint: did you mean style?\n"},
		{"prompt empty z=1", "library", 2, "stdwire: " + self +
			": empty: there is no argument \"z\"\nhint: empty()\n"},
		{"prompt greet name:=1", "library", 2,
			"stdwire: prompt: argument \"name\": the arguments here are text, not JSON\nhint: write name=…\n"},
		{"prompt greet name=1 name=2", "library", 2,
			"stdwire: prompt: argument \"name\" is given twice\nhint: see stdwire prompt --help\n"},
		{"prompt x", "good", 5, "stdwire: " + self + ": prompts/list: the server has no prompts\n"},
		{"complete", "library", 2,
			"stdwire: complete: of what, a prompt or a resource?\nhint: see stdwire complete --help\n"},
		{"complete promt", "library", 2,
			"stdwire: complete: \"promt\" is neither prompt nor resource\nhint: did you mean prompt?\n"},
		{"complete prompt", "library", 2,
			"stdwire: complete: which one?\nhint: stdwire ls prompts lists them\n"},
		{"complete resource", "library", 2,
			"stdwire: complete: which one?\nhint: stdwire ls templates lists them\n"},
		{"complete prompt greet", "library", 2,
			"stdwire: complete: which argument?\nhint: see stdwire complete --help\n"},
		{"complete prompt greet city a b", "library", 2,
			"stdwire: complete: unexpected argument \"b\": there is a value already\nhint: see stdwire complete --help\n"},
		{"complete prompt gret city", "library", 5, "stdwire: " + self +
			": gret: there is no such prompt; there are greet, empty\nhint: did you mean greet?\n"},
		{"complete prompt greet cty", "library", 2, "stdwire: " + self +
			": greet: there is no argument \"cty\"\nhint: did you mean city?\n"},
		{"complete resource file:///{nam} nam", "library", 5, "stdwire: " + self +
			": file:///{nam}: there is no such resource template; there are file:///{name}\nhint: did you mean file:///{name}?\n"},
		{"complete resource x:y z", "good", 5, "stdwire: " + self +
			": x:y: the server has no completions\n"},
		{"ls prompst", "library", 2,
			"stdwire: ls: \"prompst\" is not one of tools, resources, templates, prompts, skills\nhint: did you mean prompts?\n"},
	} {
		got := against(t, tt.args, tt.fixture)
		assert.Equal(t, got.stderr, tt.stderr, tt.args)
		assert.Equal(t, got.code, tt.code, tt.args)
		assert.Equal(t, got.stdout, "")
	}
}

// A changed resource is printed again. A missing resource does not end the command; the end of the
// server does.
func TestReadWatched(t *testing.T) {
	got := against(t, "read --watch count:1", "library")
	assert.Equal(t, got.code, 6)
	assert.Equal(t, got.stdout, "1\n3\n")
	changed := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d count:1 has changed$`)
	assert.Equal(t, len(changed.FindAllString(got.stderr, -1)), 3, got.stderr)
	assert.Equal(t, changed.ReplaceAllString(got.stderr, "~"),
		"~\ncount:1: Resource not found (code -32002)\n~\n~\nstdwire: "+self+
			": count:1: exited with status 7: \"worn out\"\n")

	notes := newNotes(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		notes.Line(t)
		cancel(command.SignalError{Signal: os.Interrupt})
	}()
	got = runWith(ctx, termtest.Capture(false),
		words("read --watch file:///notes.md", fixture("library", notes.path)...)...)
	assert.Equal(t, got.code, 130)
	assert.Assert(t, strings.HasSuffix(lastLine(got.stderr), "interrupted"), got.stderr)
}
