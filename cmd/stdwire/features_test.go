package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/termtest"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// onTerminal runs a command on a fixture at a terminal where input is typed.
func onTerminal(t *testing.T, typed, args, name string, more ...string) ran {
	t.Helper()
	c := termtest.Capture(true)
	c.In = strings.NewReader(typed)
	return runWith(t.Context(), c, words(args, fixture(name, more...)...)...)
}

func TestLs(t *testing.T) {
	assert.Equal(t, against(t, "ls", "library"), ran{0, `tools
  ask()
  page()
  log()
  can()
  picture()
  first()

resources
  file:///logo.png (image/png, 4 B)
  file:///notes.md (text/markdown)

templates
  file:///{name}

prompts
  greet(name, city, [style])
  empty()
`, ""})
	assert.Equal(t, against(t, "ls resources", "library").stdout,
		"file:///logo.png (image/png, 4 B)\n    logo.png\n\nfile:///notes.md (text/markdown)\n    Notes\n")
	assert.Equal(t, against(t, "ls templates", "library").stdout, "file:///{name}\n    Any file.\n")
	assert.Equal(t, against(t, "ls prompts", "library").stdout,
		"greet(name, city, [style])\n    Say hello.\n\nempty()\n")
	assert.Equal(t, against(t, "ls tools", "good"), against(t, "tools", "good"))

	all := `{"tools":` + libraryTools + `,"resources":` + libraryResources +
		`,"resourceTemplates":` + libraryTemplates + `,"prompts":` + libraryPrompts + "}\n"
	assert.Equal(t, against(t, "ls -o json", "library").stdout, all, "byte by byte")
	assert.Equal(t, against(t, "ls resources -o json", "library").stdout, libraryResources+"\n")
	assert.Equal(t, against(t, "ls templates -o json", "library").stdout, libraryTemplates+"\n")
	assert.Equal(t, against(t, "ls prompts -o json", "library").stdout, libraryPrompts+"\n")

	assert.Assert(t,
		strings.HasPrefix(against(t, "ls", "good").stdout,
			"tools\n  echo(text: string, [n: integer])\n  hang()\n"))
	assert.Equal(t, against(t, "ls", "toolless"), ran{0, "", "the server has nothing\n"})
	assert.Equal(t, against(t, "ls -o json", "toolless"), ran{0, "{}\n", ""})
	assert.Equal(t, against(t, "ls prompts", "toolless"),
		ran{5, "", "stdwire: " + self + ": prompts/list: the server has no prompts\n"})
	assert.Equal(t, against(t, "ls resources", "good"),
		ran{5, "", "stdwire: " + self + ": resources/list: the server has no resources\n"})
}

func TestRead(t *testing.T) {
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

func TestPrompt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "name")
	assert.NilError(t, os.WriteFile(file, []byte("Ann\n"), 0o600))
	args := "prompt greet city=012 name=@" + file
	const text = `Hello {"city":"012","name":"Ann\n"}`
	assert.Equal(t, against(t, args, "library"),
		ran{0, "user:\n" + text + "\n\nassistant:\n[image image/png 4 B → --save DIR]\n", ""})
	assert.Equal(t, against(t, args+" -o raw", "library"), ran{0, text + "\x89PNG", ""})
	want := strings.Replace(libraryGreet, "ARGS", `{\"city\":\"012\",\"name\":\"Ann\\n\"}`, 1)
	assert.Equal(t, against(t, args+" -o json", "library"), ran{0, want + "\n", ""}, "byte by byte")
	assert.Equal(t, against(t, "prompt empty", "library"), ran{0, "", ""})
}

func TestComplete(t *testing.T) {
	const more = "note: these are 2 of 5\n"
	assert.Equal(t, against(t, "complete prompt greet city O", "library"),
		ran{0, "Oslo\n" + `{"type":"ref/prompt","name":"greet"}` + "\n", more})
	assert.Equal(t, against(t, "complete prompt greet city name=Ann style=x=y", "library").stdout,
		"slo\n"+`{"arguments":{"name":"Ann","style":"x=y"}}{"type":"ref/prompt","name":"greet"}`+
			"\n")
	assert.Equal(t, against(t, "complete prompt greet city city=a=b name=Ann", "library").stdout,
		"a=bslo\n"+`{"arguments":{"name":"Ann"}}{"type":"ref/prompt","name":"greet"}`+"\n")
	assert.Equal(t, against(t, "complete resource file:///{name} name no", "library").stdout,
		"noslo\n"+`{"type":"ref/resource","uri":"file:///{name}"}`+"\n")
	assert.Equal(t, against(t, "complete prompt greet style", "library"),
		ran{0, "", "note: the server suggests nothing\n"})
	got := against(t, "complete prompt greet city O -o json", "library")
	assert.Equal(t, got,
		ran{0, `{"completion":{"values":["Oslo","{\"type\":\"ref/prompt\",\"name\":\"greet\"}"],"total":5}, "x-unknown": 1.0}` +
			"\n", ""})

	got = against(t, "complete prompt greet city O name=Ann", "old")
	assert.Equal(t, got,
		ran{0, "Oslo\n" + `{"type":"ref/prompt","name":"greet"}` + "\n",
			"note: the server uses 2025-03-26, in which requests cannot carry the other arguments\n" +
				more})
}

func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "saved")
	is := func(name, content string) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(dir, name))
		assert.NilError(t, err)
		assert.Equal(t, string(got), content)
	}
	got := against(t, "read file:///logo.png file:///folder --save "+dir, "library")
	assert.Equal(t, got,
		ran{0, "==> file:///logo.png <==\n[resource file:///logo.png image/png 4 B → " +
			filepath.Join(dir, "logo.png") + "]\n" +
			"==> file:///folder/a <==\nA\n==> file:///folder/b <==\n[resource file:///folder/b 2 B → " +
			filepath.Join(dir, "b.bin") + "]\n", ""})
	is("logo.png", "\x89PNG")
	is("b.bin", "\x00\x01")
	got = against(t, "call picture --save "+dir, "library")
	assert.Equal(t, got,
		ran{0, "Here:\n[image image/png 4 B → " + filepath.Join(dir, "picture-2.png") +
			"]\n[link file:///logo.png logo]\n", ""})
	is("picture-2.png", "\x89PNG")
	got = against(t, "prompt greet name=a city=b --save "+dir, "library")
	assert.Assert(t,
		cmp.Contains(got.stdout, "[image image/png 4 B → "+filepath.Join(dir, "greet-2.png")+"]\n"))

	got = against(t, "read file:///logo.png -o json --save "+dir, "library")
	assert.Equal(t, got,
		ran{0, libraryLogo + "\n", "saved " + filepath.Join(dir, "logo-2.png") + "\n"})
	got = onTerminal(t, "", "call picture -o raw --save "+dir, "library")
	assert.Equal(t, got,
		ran{0, "Here:\nfile:///logo.png\n", "saved " + filepath.Join(dir, "picture-2-2.png") +
			"\n"})
	is("picture-2-2.png", "\x89PNG")

	assert.Equal(t, against(t, "call picture -o raw", "library"),
		ran{0, "Here:\x89PNGfile:///logo.png\n", ""})

	got = against(t, "read file:///logo.png --save "+dir+"/logo.png", "touch",
		filepath.Join(dir, "mark"))
	assert.Equal(t, got.code, 2)
	_, err := os.Stat(filepath.Join(dir, "mark"))
	assert.Assert(t, os.IsNotExist(err), "nothing was started")
	assert.Assert(t, strings.HasPrefix(got.stderr, "stdwire: read: --save: "), got.stderr)
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

// A modern server sends changes on a stream and asks with input_required.
func TestModernServer(t *testing.T) {
	notes := newNotes(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		notes.Line(t)
		cancel(command.SignalError{Signal: os.Interrupt})
	}()
	got := runWith(ctx, termtest.Capture(false),
		words("read --watch count:1", fixture("modern", notes.path)...)...)
	assert.Equal(t, got.code, 130, got.stderr)
	assert.Assert(t, strings.HasPrefix(got.stdout, "1\n2\n"), got.stdout)

	for _, args := range []string{"read hello:1", "prompt hello -o raw"} {
		got = onTerminal(t, "Ann\ny\n", args, "modern")
		assert.Equal(t, strings.TrimSpace(got.stdout), "Hello Ann", got.stderr)
		got = onTerminal(t, ".decline\n", args, "modern")
		assert.Equal(t, strings.TrimSpace(got.stdout), "Hello nobody", got.stderr)
		got = against(t, args, "modern")
		assert.Equal(t, got.code, 5)
		assert.Assert(t,
			strings.HasSuffix(got.stderr,
				": the server asks a question, and nobody can answer it here\nhint: "+
					term.HintTerminal+"\n"), got.stderr)
	}
	assert.Equal(t, against(t, "complete prompt hello who A city=Oslo", "modern"),
		ran{0, "A of Oslo\n", ""})
	assert.Equal(t, against(t, "read hello:2", "modern").code, 5)
}

// Progress and log messages are printed as lines with times, also without a terminal.
func TestCallWatched(t *testing.T) {
	got := against(t, "call log --watch", "library")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stdout, "done\n")
	clock := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `)
	lines := strings.Split(strings.TrimSuffix(clock.ReplaceAllString(got.stderr, "~"), "\n"), "\n")
	assert.Equal(t, len(lines), 3, got.stderr)
	for _, want := range []string{"~50% half", "~warning db: slow query", `~info {"n": 1}`} {
		assert.Assert(t, cmp.Contains(lines, want))
	}
}

func TestQuestionsAtTheTerminal(t *testing.T) {
	got := onTerminal(t, "Ann\n\ny\n", "call ask", "library")
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Equal(t, got.stdout, `{"action":"accept","content":{"name":"Ann","n":7}}`+"\n")
	assert.Assert(t, strings.HasPrefix(got.stderr, self+" asks:\n  Who?\n"), got.stderr)

	got = onTerminal(t, ".decline\n", "call ask", "library")
	assert.Equal(t, got.stdout, `{"action":"decline"}`+"\n")
	got = onTerminal(t, "Ann\n", "call ask", "library")
	assert.Equal(t, got.stdout, `{"action":"cancel"}`+"\n")
	got = onTerminal(t, "y\n", "call page", "library")
	assert.Equal(t, got.stdout, `{"action":"decline"}`+"\n", "not with ftp")

	// The declared capabilities are those that are implemented.
	assert.Equal(t, onTerminal(t, "", "call can", "library").stdout,
		`{"sampling":{},"elicitation":{"form":{},"url":{}}}`+"\n")
	assert.Equal(t, against(t, "call can", "library").stdout, "{}\n")
	for _, half := range []func(*termtest.Captured){func(c *termtest.Captured) {
		c.InTerminal = false
	}, func(c *termtest.Captured) { c.Err.Terminal = false }} {
		c := termtest.Capture(true)
		half(&c)
		assert.Equal(t, runWith(t.Context(), c, words("call can", fixture("library")...)...).stdout,
			"{}\n")
	}
}

func TestQuestionsOfTheBuiltInServer(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		for typed, gone := range map[string]bool{"y\n": true, "n\n": false, "": false} {
			dir := t.TempDir()
			file := filepath.Join(dir, "a")
			assert.NilError(t, os.WriteFile(file, nil, 0o600))
			c := termtest.Capture(true)
			c.In = strings.NewReader(typed)
			got := runWith(t.Context(), c, "call", "fs_delete", "path=a", "--write", "--root", dir,
				"--era", era)
			assert.Assert(t, strings.HasPrefix(got.stderr, "built-in asks:\n  Delete a file"),
				got.stderr)
			assert.Equal(t, got.code == 0, gone, got.stderr)
			_, err := os.Stat(file)
			assert.Equal(t, os.IsNotExist(err), gone, "%s %q", era, typed)
		}
	}
}

func TestQuestionWithoutTerminal(t *testing.T) {
	const nobody = "the server asks a question, and nobody can answer it here\nhint: " +
		term.HintTerminal + "\n"
	for _, tt := range []struct{ args, fixture, more, stderr string }{
		{"call ask", "library", "", "stdwire: " + self +
			": ask: Client does not support form elicitation.\nhint: " + term.HintTerminal + "\n"},
		{"call first", "library", "", "stdwire: " + self +
			": first: a web page has to be visited first: Log in.\nhint: if you trust the server, open https://example.com/a and try again\n"},
		{"call unheard-of", "library", "", "stdwire: " + self +
			": unheard-of: there is no such tool; there are ask, page, log, can, picture, first\nhint: some tools exist only at a terminal: run it with stdin and stderr on a terminal\n"},
		{"call t", "asking", "elicitation/create", "stdwire: " + self + ": t: " + nobody},
		{"read x:y", "asking", "elicitation/create", "stdwire: " + self + ": x:y: " + nobody},
		{"call t", "asking", "capability", "stdwire: " + self + ": t: " + nobody},
		{"call t", "asking", "sampling/createMessage", "stdwire: " + self +
			": t: the server asks a model, and none can answer it here\nhint: --sample COMMAND answers it, and at a terminal you do: run it with stdin and stderr on one\n"},
		{"call t", "asking", "roots/list", "stdwire: " + self +
			": t: the server asks for roots/list, which stdwire does not give\n"},
	} {
		got := against(t, tt.args, tt.fixture, tt.more)
		assert.Equal(t, got, ran{5, "", tt.stderr}, "%s %s", tt.args, tt.more)
	}
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o600))
	got := run(t, "call", "fs_delete", "path=a", "--write", "--root", dir)
	assert.Equal(t, got.code, 7)
	assert.Equal(t, lastLine(got.stderr), "hint: confirm it with --yes, or at a terminal")
	assert.Equal(t, run(t, "call", "fs_delete", "path=a", "--write", "--root", dir, "--confirm",
		"trust").code, 0)
}

func TestInterruptedWhileAsking(t *testing.T) {
	for _, args := range [][]string{
		words("call ask", fixture("library")...),
		{"call", "fs_delete", "path=a", "--write", "--era", "modern", "--root"},
	} {
		if args[1] == "fs_delete" {
			dir := t.TempDir()
			assert.NilError(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o600))
			args = append(args, dir)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		c := termtest.Capture(true)
		c.In = signallingReader{func() { cancel(command.SignalError{Signal: os.Interrupt}) },
			make(chan struct{})}
		got := runWith(ctx, c, args...)
		assert.Equal(t, got.code, 130, got.stderr)
		assert.Equal(t, got.stdout, "")
		assert.Assert(t, cmp.Contains(got.stderr, "\nCancelled.\n"))
		assert.Assert(t, strings.HasSuffix(lastLine(got.stderr), ": interrupted"), got.stderr)
	}
}

// A signallingReader reports that it is read from, and blocks.
type signallingReader struct {
	tell func()
	ever chan struct{}
}

func (r signallingReader) Read([]byte) (int, error) {
	r.tell()
	<-r.ever
	return 0, nil
}
