package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch/cli"
)

func TestScript(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(file, []byte("from a file"), 0o600))
	for _, c := range []struct {
		name, args, script string
		out, err           string
		code               int
	}{
		{"nothing", "-", "", "", "", 0},
		{"nothing to do", "-", "\n  \n# a comment\n\t#another", "", "", 0},
		{"some", "-", "note\nopen --a 1 --b 'two words'\nnote", "3\na:  1\nb:  two words\n3\n", "",
			0},
		{"Windows", "-", "note\r\nopen --a b\r\n\r\n", "3\na:  b\n", "", 0},
		{"dots", "-", "note.archive.old --yes\nnote", "3\n", "", 0},
		{"over lines", "-", "open \\\n  --a 'x\ny'\nnope", "a:\n  x\n  y\n",
			"notes: line 4: nope: unknown_operation: there is no such operation; did you mean note?\n",
			5},
		{"first failure", "-", "note\n\ntest fail --code not_found --message gone\nnote", "3\n",
			"notes: line 3: test fail: not_found: gone\n", 5},
		{"own exit code", "-", "test fail --code overdrawn --message ''", "",
			"notes: line 1: test fail: overdrawn: There is no money left.\n", 42},
		{"wrong flag", "-", "note --x 1", "",
			"notes: line 1: note: invalid_input: unknown flag --x; notes note --help lists the flags\n",
			2},
		{"-o before", "-o json -", "note\nnote -o text", `{"success":true,"data":3,"error":null}` +
			"\n3\n", "", 0},
		{"-o behind", "- -o=json", "note", `{"success":true,"data":3,"error":null}` + "\n", "", 0},
		{"failure as JSON", "-o json -", "note add", "",
			`{"success":false,"data":null,"error":{"code":"missing_param","message":"line 1: invalid arguments: missing required property \"title\"","details":{"errors":[{"path":"","property":"title","reason":"missing required property \"title\""}]},"recoverable":true}}` +
				"\n", 2},
		{"one line as JSON", "-", "note\ntest fail -o json --code not_found --message gone", "3\n",
			`{"success":false,"data":null,"error":{"code":"not_found","message":"line 2: gone","details":null,"recoverable":true}}` +
				"\n", 5},
		{"help", "-", "completion --help", "usage: notes completion bash|zsh|fish|powershell\n", "", 0},
		{"standard input is taken", "-", "note\nnote add --title -", "3\n",
			"notes: line 2: note add: invalid_input: --title: - is standard input, which is where the command lines come from; give @FILE\n",
			2},
		{"so it is with @", "-", "note add --json @-", "",
			"notes: line 1: note add: invalid_input: --json: @- is standard input, which is where the command lines come from; give @FILE\n",
			2},
		{"a file is not", "-", "open --a '@" + file + "'", "a:  from a file\n", "", 0},
		{"nobody is asked", "-", "note archive old", "",
			"notes: line 1: note archive old: confirmation_required: Put old notes away. This cannot be undone. Give --yes to confirm it.\n",
			7},
		{"no script within", "-", "note\n-", "3\n",
			"notes: line 2: -: invalid_input: standard input is being read for command lines already\n",
			2},
		{"help of it within", "-", "note\n'-' --nope", "3\n",
			"notes: line 2: -: invalid_input: unknown flag --nope\n", 2},
		{"open quote", "-", "note\nopen --a 'x' --b \\\n \"y\nnote\n", "3\n",
			"notes: line 3: invalid_input: the quote \" is never closed\n", 2},
		{"open quote as JSON", "-o json -", "'", "",
			`{"success":false,"data":null,"error":{"code":"invalid_input","message":"line 1: the quote ' is never closed","details":null,"recoverable":true}}` +
				"\n", 2},
		{"backslash at the end", "-", "note \\", "",
			"notes: line 1: invalid_input: nothing follows the last \\\n", 2},
		{"too long", "-", "note\nopen --a '" + strings.Repeat("x\n", 1<<19), "3\n",
			"notes: line 2: invalid_input: the command line has more than 1048576 bytes\n", 2},
		{"as long as can be", "-", "test print --data:='\"" +
			strings.Repeat("x", 1<<20-len("test print --data:='\"\"'\n")) + "\"'\n#" +
			strings.Repeat("x", 1<<20-1),
			strings.Repeat("x", 1<<20-len("test print --data:='\"\"'\n")) + "\n", "", 0},
		{"more words", "- note", "", "",
			"notes: - note: invalid_input: unexpected argument \"note\"; the commands come from standard input\n",
			2},
		{"no flags", "- --yes", "", "", "notes: -: invalid_input: unknown flag --yes\n", 2},
		{"not a script", "note -", "", "",
			"notes: note: invalid_input: unexpected argument \"-\"\n", 2},
		{"an empty word", "-", "''", "",
			"notes: line 1: : missing_param: more of the operation's name is missing", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, input(c.script), strings.Fields(c.args)...)
			if c.name == "help" || c.name == "an empty word" {
				r.out, r.err = r.out[:min(len(r.out), len(c.out))],
					r.err[:min(len(r.err), len(c.err))]
			}
			assert.Equal(t, r.err, c.err)
			assert.Equal(t, r.out, c.out)
			assert.Equal(t, r.code, c.code)
		})
	}
}

// A script that is being written is run line by line: what a line prints is there before the next
// is read, and no byte is read before its time.
func TestLiveScript(t *testing.T) {
	in, typing := io.Pipe()
	results, out := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int)
	go func() {
		std := cli.IO{Program: "notes", In: in, Out: bufio.NewWriter(out), Err: &errs}
		code <- cli.Run(t.Context(), newDispatcher(notesCatalog()), []string{"-"}, std)
	}()
	lines := bufio.NewScanner(results)
	for range 3 {
		_, err := io.WriteString(typing, "note\n")
		assert.NilError(t, err)
		assert.Assert(t, lines.Scan())
		assert.Equal(t, lines.Text(), "3")
	}
	go io.WriteString(typing, "nope\nnote\n")
	assert.Equal(t, <-code, 5)
	rest := make([]byte, 5)
	_, err := io.ReadFull(in, rest)
	assert.NilError(t, err)
	assert.Equal(t, string(rest), "note\n")
	assert.Equal(t, errs.String(),
		"notes: line 4: nope: unknown_operation: there is no such operation; did you mean note?\n")
}

// A buffer that cannot be emptied ends the script.
func TestScriptOutputFails(t *testing.T) {
	r := run(t, func(std *cli.IO) {
		std.In, std.Out = strings.NewReader("note\nnote\n"), bufio.NewWriter(full{})
	}, "-")
	assert.Equal(t, r.err,
		"notes: line 1: internal_error: cannot print the result: no space left\n")
	assert.Equal(t, r.code, 1)
}

func TestScriptInputFails(t *testing.T) {
	r := run(t, func(std *cli.IO) {
		std.In = io.MultiReader(strings.NewReader("note\nno"), broken{})
	}, "-")
	assert.Equal(t, r.out, "3\n")
	assert.Equal(t, r.err,
		"notes: line 2: invalid_input: cannot read standard input: the cable is gone\n")
	r = run(t, func(std *cli.IO) { std.In = stuck{} }, "-")
	assert.Equal(t, r.err,
		"notes: line 1: invalid_input: cannot read standard input: multiple Read calls return no data or error\n")
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestCancelScript(t *testing.T) {
	in, typing := io.Pipe()
	defer typing.Close()
	ctx, cancel := context.WithCancel(t.Context())
	reading := make(chan struct{})
	go func() {
		<-reading
		cancel()
	}()
	var errs strings.Builder
	code := cli.Run(ctx, newDispatcher(notesCatalog()), []string{"-"},
		cli.IO{Program: "notes", In: signalling{in, reading}, Out: io.Discard, Err: &errs})
	assert.Equal(t, code, 130)
	assert.Equal(t, errs.String(),
		"notes: -: cancelled: interrupted while reading standard input\n")

	errs.Reset()
	code = cli.Run(ctx, newDispatcher(notesCatalog()), []string{"-"},
		cli.IO{Program: "notes", In: unread{t}, Out: io.Discard, Err: &errs})
	assert.Equal(t, code, 130)
}

// At a terminal there is a prompt, nobody is asked but by it, and a failure is not the end.
func TestScriptAtTerminal(t *testing.T) {
	r := runOn(t, shelf(), func(std *cli.IO) {
		asked("\nnote put --title new\nnote delete --title x\ny\n")(std)
		std.Program = "box notes"
	}, "-")
	assert.Equal(t, r.out, "put\n")
	assert.Equal(t, r.err,
		"box notes> box notes> box notes> box notes: line 3: note delete: confirmation_required: Delete a note. This cannot be undone. Give --yes to confirm it.\n"+
			"box notes> box notes: line 4: y: unknown_operation: there is no such operation; there are note add, note delete, note put\nbox notes> \n")
	assert.Equal(t, r.code, 0)
	r = runOn(t, shelf(), asked("note put --title new"), "-")
	assert.Equal(t, r.err, "notes> notes> \n")
	assert.Equal(t, r.code, 0)
	r = run(t, func(std *cli.IO) { std.In, std.InTerminal = strings.NewReader("note"), true }, "-")
	assert.Equal(t, r.err, "")
	r = run(t, func(std *cli.IO) { terminals(std); std.In = strings.NewReader("note") }, "-")
	assert.Equal(t, r.err, "")
}

// What is read behind the end of a script is an error.
type closed struct{ ended bool }

func (c *closed) Read([]byte) (int, error) {
	if c.ended {
		return 0, errors.New("read behind the end")
	}
	c.ended = true
	return 0, io.EOF
}

func TestScriptEndsOnce(t *testing.T) {
	r := run(t, func(std *cli.IO) {
		std.In = io.MultiReader(strings.NewReader("note\n"), &closed{})
	}, "-")
	assert.Equal(t, r.err, "")
	assert.Equal(t, r.code, 0)
}

func BenchmarkScript(b *testing.B) {
	text := strings.Repeat("open --title 'two words' --count 5\n", 1000)
	d := newDispatcher(notesCatalog())
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		in, w, err := os.Pipe()
		assert.NilError(b, err)
		go func() {
			_, _ = io.WriteString(w, text)
			w.Close()
		}()
		assert.Equal(b, cli.Run(b.Context(), d, []string{"-"},
			cli.IO{Program: "notes", In: in, Out: io.Discard, Err: io.Discard}), 0)
		in.Close()
	}
}
