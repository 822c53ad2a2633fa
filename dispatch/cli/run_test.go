package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/cli"
)

// Every code that an operation can fail with has its line, its envelope and its exit code.
func TestExitCodes(t *testing.T) {
	codes := notesCatalog().Codes()
	assert.Equal(t, len(codes), len(dispatch.NewCatalog().Codes())+1) // overdrawn
	for _, info := range codes {
		t.Run(string(info.Code), func(t *testing.T) {
			args := []string{"test", "fail", "--code", string(info.Code), "--message", "it\nis so"}
			wayOut := ""
			if info.Code == dispatch.ConfirmationRequired {
				wayOut = ". Give --yes to confirm it."
			}
			r := run(t, nil, args...)
			assert.Equal(t, r.code, info.ExitCode)
			assert.Equal(t, r.out, "")
			assert.Equal(t, r.err,
				fmt.Sprintf("notes: test fail: %s: it is so%s\n", info.Code, wayOut))

			r = run(t, nil, append(args, "-o", "json")...)
			assert.Equal(t, r.code, info.ExitCode)
			assert.Equal(t, r.out, "")
			assert.Equal(t, r.err,
				fmt.Sprintf(`{"success":false,"data":null,"error":{"code":%q,"message":"it\nis so%s","details":null,"recoverable":%t}}`+
					"\n", info.Code, wayOut, info.Recoverable))
		})
	}
	r := run(t, nil, "test", "fail", "--code", "overdrawn", "--message", "")
	assert.Equal(t, r.code, 42)
	assert.Equal(t, r.err, "notes: test fail: overdrawn: There is no money left.\n")
	r = run(t, nil, "test", "fail", "--code", "undeclared", "--message", "secret")
	assert.Equal(t, r.code, 1)
	assert.Equal(t, r.err,
		"notes: test fail: internal_error: the operation failed; the text of its error is withheld: "+
			"the log has it, and ShowErrors shows it\n")
}

// Where -o json is asked for, what is wrong with the command line is an envelope too, wherever it
// stands.
func TestFailureAsJSON(t *testing.T) {
	for _, c := range []struct{ args, code, message string }{
		{"note add --nope 5 -o json", "invalid_input", "unknown flag --nope; notes note add --help lists the flags"},
		{"-o json nope", "unknown_operation", "there is no such operation; did you mean note?"},
		{"note add milk -o=json", "invalid_input",
			`unexpected argument \"milk\"; did you mean --title milk?`},
	} {
		r := run(t, nil, strings.Fields(c.args)...)
		assert.Equal(t, r.err, `{"success":false,"data":null,"error":{"code":"`+c.code+
			`","message":"`+c.message+`","details":null,"recoverable":true}}`+"\n")
	}
	// The dispatcher's words stay what they are on every other surface.
	r := run(t, nil, "note", "add", "-o", "json")
	assert.Equal(t, r.err,
		`{"success":false,"data":null,"error":{"code":"missing_param","message":"invalid arguments: missing required property \"title\"","details":{"errors":[{"path":"","property":"title","reason":"missing required property \"title\""}]},"recoverable":true}}`+
			"\n")
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ args, out string }{
		{"note", "3\n"},
		{"note archive old --yes", ""},
		{"note archive.old -y", ""},
		{"note.archive.old --yes --yes", ""},
		{"-o json note", `{"success":true,"data":3,"error":null}` + "\n"},
		{"-o=json note archive old --yes", `{"success":true,"data":{},"error":null}` + "\n"},
	} {
		r := run(t, nil, strings.Fields(c.args)...)
		assert.Equal(t, r.code, 0, r.err)
		assert.Equal(t, r.out, c.out)
		assert.Equal(t, r.err, "")
	}
}

// A catalog may use the names that this package uses.
func TestOperationsGoFirst(t *testing.T) {
	catalog := dispatch.NewCatalog()
	for _, name := range []string{"completion.bash", "__complete"} {
		dispatch.Add(catalog, dispatch.Spec{Name: name, Summary: "Ours.", Type: dispatch.Read},
			func(context.Context, struct{}) (string, error) { return name, nil })
	}
	assert.Equal(t, runOn(t, catalog, nil, "completion", "bash").out, "completion.bash\n")
	assert.Equal(t, runOn(t, catalog, nil, "__complete").out, "__complete\n")
}

func TestHelp(t *testing.T) {
	for _, c := range []struct{ args, file string }{
		{"--help", "help.txt"},
		{"-h", "help.txt"},
		{"note", "help-note.txt"},
		{"note add", "help-note-add.txt"},
		{"note add --nope -o yaml", "help-note-add.txt"},
		{"note archive", "help-note-archive.txt"},
		{"note archive old", "help-note-archive-old.txt"},
		{"-", "help-script.txt"},
		{"test fail", "help-test-fail.txt"},
		{"open", "help-open.txt"},
		{"completion", "help-completion.txt"},
	} {
		t.Run(c.args, func(t *testing.T) {
			r := run(t, nil, append(strings.Fields(c.args), "--help")...)
			assert.Equal(t, r.code, 0, r.err)
			assert.Equal(t, r.err, "")
			golden.Assert(t, r.out, c.file)
			for line := range strings.Lines(r.out) {
				assert.Assert(t, len([]rune(line)) <= 81 ||
					strings.HasPrefix(line, "  notes "), line)
			}
		})
	}
	r := run(t, nil, "nope", "--help")
	assert.Equal(t, r.code, 5)
}

// The flags that help lists, of schemas that Go types do not turn into.
func TestFlagsInHelp(t *testing.T) {
	wide := `{"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#/$defs/0"}},"$defs":{`
	for i := range 12 { // 2 to the power of 12 flags
		wide += fmt.Sprintf(
			`"%d":{"type":"object","additionalProperties":false,"properties":{"x":{"$ref":"#/$defs/%[2]d"},"y":{"$ref":"#/$defs/%[2]d"}}},`,
			i, i+1)
	}
	wide += `"12":{"type":"integer"}}}`
	for _, c := range []struct{ name, properties, want string }{
		{"unions", `"a":{"type":["integer","null"]},"b":{"type":["object","string"]},"c":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]}`,
			"--a integer|--b object|string|--c string|integer …"},
		{"empty object", `"a":{"type":"object","additionalProperties":false}`, "--a:=object"},
		{"open object", `"a":{"type":"object"}`, "--a.NAME any"},
		{"maps of maps", `"a":{"additionalProperties":{"additionalProperties":{"type":"integer"}}}`,
			"--a.NAME:=object"},
		{"recursion", `"a":{"$ref":"#"},"b":{"type":"boolean"}`, "--a:=object|--[no-]b"},
		{"recursion further down",
			`"a":{"additionalProperties":false,"properties":{"b":{"$ref":"#/properties/a"},"c":{}}}`,
			"--a.b:=object|--a.c any"},
		{"no end of values", `"a":{"enum":["` + strings.Repeat("x", 70) +
			`"]},"b":{"enum":[1,"two",null]}`, "--a any|--b 1|two|null"},
		{"reserved", `"help":{},"json":{},"h":{}`, "--h any"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, flagsInHelp(t,
				`{"type":"object","additionalProperties":false,"properties":{`+c.properties+`}}`),
				c.want)
		})
	}
	many := strings.Split(flagsInHelp(t, wide), "|")
	assert.Equal(t, len(many), 501)
	assert.Equal(t, many[0], "--a"+strings.Repeat(".x", 12)+" integer")
	assert.Equal(t, many[500], "…")
}

func flagsInHelp(t *testing.T, schema string) string {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "go", Summary: "Go.", Type: dispatch.Read, Input: []byte(schema)},
		anything)
	_, rest, _ := strings.Cut(runOn(t, catalog, nil, "go", "--help").out, "Flags:\n")
	own, _, _ := strings.Cut(rest, "  --json, -d JSON")
	var heads []string
	for line := range strings.Lines(own) {
		if head, ok := strings.CutPrefix(line, "  "); ok && head[0] != ' ' {
			head, _, _ = strings.Cut(strings.TrimSpace(head), "  ")
			heads = append(heads, head)
		}
	}
	return strings.Join(heads, "|")
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		catalog := notesCatalog()
		var out, errs bytes.Buffer
		done := make(chan int)
		go func() {
			done <- cli.Run(ctx, newDispatcher(catalog), []string{"test", "wait"},
				cli.IO{Program: "notes", In: unread{t}, Out: &out, Err: &errs})
		}()
		synctest.Wait()
		cancel()
		assert.Equal(t, <-done, 130)
		assert.Equal(t, errs.String(), "notes: test wait: cancelled: the call was cancelled\n")
		assert.Equal(t, out.String(), "")
	})
}

func TestProgress(t *testing.T) {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "job.run", Summary: "Work.", Type: dispatch.Read},
		func(ctx context.Context, _ struct{}) (string, error) {
			for i := range 10 {
				dispatch.Progress(ctx, float64(i), 20, "step\x1b[2J "+strings.Repeat("x", 10*i))
				time.Sleep(30 * time.Millisecond) // of the bubble's clock
			}
			time.Sleep(time.Second)
			dispatch.Progress(ctx, 7, 0, "")
			return "done", nil
		})
	synctest.Test(t, func(t *testing.T) {
		var all bytes.Buffer // both are one terminal
		std := cli.IO{Program: "jobs", Out: &all, Err: &all, OutTerminal: true, ErrTerminal: true}
		assert.Equal(t, cli.Run(t.Context(), newDispatcher(catalog), []string{"job", "run"}, std),
			0)
		const erase = "\r\x1b[K"
		assert.Equal(t, all.String(), `job run: [--------------------] 0% step`+
			erase+`job run: [####----------------] 20% step `+strings.Repeat("x", 37)+"…"+
			erase+`job run: [########------------] 40% step `+strings.Repeat("x", 37)+"…"+
			erase+`job run: 7 5.38/s`+erase+"done\n")

		for _, shown := range []struct{ terminal, dumb bool }{{true, true}, {false, false}} {
			all.Reset()
			std.ErrTerminal, std.ErrDumb = shown.terminal, shown.dumb
			code := cli.Run(t.Context(), newDispatcher(catalog), []string{"job", "run"}, std)
			assert.Equal(t, code, 0)
			assert.Equal(t, all.String(), "done\n")
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestOutputFails(t *testing.T) {
	for _, args := range []string{"note", "note -o json", "--help", "note add --help",
		"completion bash", "__complete n", `test print --data:="x"`} {
		r := run(t, func(std *cli.IO) { std.Out = full{} }, strings.Fields(args)...)
		assert.Equal(t, r.code, 1, args)
		assert.Assert(t, strings.Contains(r.err, "cannot print the result: no space left"),
			"%s: %s", args, r.err)
	}
	r := run(t, func(std *cli.IO) { std.Out, std.Err = full{}, full{} }, "note")
	assert.Equal(t, r.code, 1)
}

// What an operation says cannot act on the terminal, and what a program reads is what the operation
// said.
func TestTerminalSafety(t *testing.T) {
	const nasty = "a\x1b]0;title\x07b\u202ec\u009b2Jd\u200be\U000E0041f\r\ng\rh\ti"
	const safe = `ab\u202ec\u009b2Jd\u200be\U000e0041f` + "\ng\nh\ti"
	assert.Equal(t, run(t, terminals, "test", "print", "--data", nasty).out, safe+"\n")
	assert.Equal(t, run(t, nil, "test", "print", "--data", nasty).out, nasty+"\n")

	r := run(t, terminals, "test", "print", "--data", "x\u202ey\u009bz\U000E0041", "-o", "json")
	assert.Equal(t, r.out, `{"success":true,"data":"x\u202ey\u009bz\udb40\udc41","error":null}`+
		"\n")
	r = run(t, nil, "test", "print", "--data", "x\u202ey", "-o", "json")
	assert.Equal(t, r.out, `{"success":true,"data":"x`+"\u202e"+`y","error":null}`+"\n")

	// A table or a line of a message is for people wherever it goes.
	r = run(t, nil, "test", "print", "--data:="+`[{"k\u202e":"\u001b[2Jx"}]`)
	assert.Equal(t, r.out, `k\u202e`+"\nx\n")
	r = run(t, nil, "test", "fail", "--code", "not_found", "--message", "\x1b[2J\nx")
	assert.Equal(t, r.err, `notes: test fail: not_found: x`+"\n")
	r = run(t, terminals, "test", "fail", "--code", "not_found", "--message", "\u202e", "-o",
		"json")
	assert.Assert(t, strings.Contains(r.err, `"message":"\u202e"`), r.err)
	r = run(t, nil, "note", "add", "--x\x1b[2J")
	assert.Equal(t, r.err, `notes: note add: invalid_input: unknown flag --x; notes note add --help lists the flags`+"\n")
}

func TestRunsAtOnce(t *testing.T) {
	catalog := notesCatalog()
	d := newDispatcher(catalog)
	done := make(chan int)
	for range 8 {
		go func() {
			done <- cli.Run(t.Context(), d, []string{"note", "add", "--title", "x"},
				cli.IO{Program: "notes", Out: io.Discard, Err: io.Discard})
		}()
	}
	for range 8 {
		assert.Equal(t, <-done, 0)
	}
}
