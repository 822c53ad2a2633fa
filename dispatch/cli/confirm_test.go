package cli_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/cli"
)

type deletion struct {
	Title string `json:"title" doc:"Of the note."`
	Yes   bool   `json:"yes,omitempty"`
}

// shelf has operations that want to be confirmed: always, at times, and with arguments named as the
// flag.
func shelf() *dispatch.Catalog {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "note.delete", Summary: "Delete a note.",
		Type: dispatch.Destructive},
		func(_ context.Context, in deletion) (deletion, error) { return in, nil })
	dispatch.Add(c, dispatch.Spec{Name: "note.put", Summary: "Write a note.", Type: dispatch.Write,
		Errors: []dispatch.Code{dispatch.ConfirmationRequired}},
		func(ctx context.Context, in struct {
			Title string `json:"title"`
		}) (string, error) {
			if in.Title != "new" {
				if err := dispatch.Confirm(ctx, "%s", in.Title); err != nil {
					return "", err
				}
			}
			return "put", nil
		})
	dispatch.Add(c, dispatch.Spec{Name: "note.add", Summary: "Add a note.", Type: dispatch.Write},
		func(_ context.Context, in deletion) (deletion, error) { return in, nil })
	return c
}

// asked has somebody at the terminal, who answers so.
func asked(answer string) func(*cli.IO) {
	return func(std *cli.IO) {
		std.In, std.InTerminal, std.ErrTerminal = strings.NewReader(answer), true, true
	}
}

func TestAnswers(t *testing.T) {
	const question = "notes: note delete: Delete a note. This cannot be undone. Go on? [y/N] "
	const declined = "notes: note delete: confirmation_required: Delete a note. This cannot be undone. It was declined.\n"
	for _, c := range []struct {
		answer string
		yes    bool
		after  string // printed in place of the line end that somebody has typed
	}{
		{"y\n", true, ""}, {"Y\n", true, ""}, {"yes\n", true, ""}, {" YES \r\n", true, ""},
		{"n\n", false, ""}, {"\n", false, ""}, {"yy\n", false, ""}, {"no\ny\n", false, ""},
		{"y es\n", false, ""},
		{"", false, "\n"}, {"y", false, "\n"}, {strings.Repeat(" ", 5000) + "y\n", false, "\n"},
	} {
		t.Run(c.answer, func(t *testing.T) {
			r := runOn(t, shelf(), asked(c.answer), "note", "delete", "--title", "x")
			if c.yes {
				assert.Equal(t, r.err, question)
				assert.Equal(t, r.out, "title:  x\n")
				assert.Equal(t, r.code, 0)
				return
			}
			assert.Equal(t, r.err, question+c.after+declined)
			assert.Equal(t, r.out, "")
			assert.Equal(t, r.code, 7)
		})
	}
	// What follows the answer is left for whoever reads on.
	in := strings.NewReader("y\nrm x\n")
	r := runOn(t, shelf(), func(std *cli.IO) {
		std.In, std.InTerminal, std.ErrTerminal = in, true, true
	}, "note", "delete", "--title", "x")
	assert.Equal(t, r.code, 0)
	assert.Equal(t, in.Len(), len("rm x\n"))
	r = runOn(t, shelf(), func(std *cli.IO) {
		std.In, std.InTerminal, std.ErrTerminal = broken{}, true, true
	}, "note", "delete", "--title", "x")
	assert.Equal(t, r.err, question+"\n"+declined)
}

// The operation is run once confirmed, and only then, with the same arguments.
func TestConfirmedCall(t *testing.T) {
	for _, c := range []struct {
		name, args string
		change     func(*cli.IO)
		calls      string
	}{
		{"asked", "note delete --title a", asked("y\n"),
			`{"title":"a"} unconfirmed, {"title":"a"} confirmed`},
		{"declined", "note delete --title a", asked("n\n"), `{"title":"a"} unconfirmed`},
		{"nobody there", "note delete --title a", nil, `{"title":"a"} unconfirmed`},
		{"--yes", "note delete --title a --yes", nil, `{"title":"a"} confirmed`},
		{"-y", "note delete -y --title a", nil, `{"title":"a"} confirmed`},
		{"in vain", "note delete --yes", nil, `{} confirmed`},
		{"wrong is not asked about", "note delete", asked("y\n"), `{} unconfirmed`},
		{"at times", "note put --title old", asked("y\n"),
			`{"title":"old"} unconfirmed, {"title":"old"} confirmed`},
		{"not this time", "note put --title new", asked("y\n"), `{"title":"new"} unconfirmed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var calls []string
			d := newDispatcher(shelf(), func(next dispatch.Handler) dispatch.Handler {
				return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
					calls = append(calls, string(i.Arguments)+map[bool]string{
						false: " unconfirmed", true: " confirmed"}[i.Call.Confirmed])
					return next(ctx, i)
				}
			})
			std := cli.IO{Program: "notes", In: unread{t}, Out: io.Discard, Err: io.Discard}
			if c.change != nil {
				c.change(&std)
			}
			cli.Run(t.Context(), d, strings.Fields(c.args), std)
			assert.Equal(t, strings.Join(calls, ", "), c.calls)
		})
	}
}

func TestNobodyToAsk(t *testing.T) {
	const failure = "notes: note delete: confirmation_required: Delete a note. This cannot be undone. Give --yes to confirm it.\n"
	for _, c := range []struct {
		name   string
		change func(*cli.IO)
	}{
		{"nothing is a terminal", nil},
		{"only In is", func(std *cli.IO) { std.InTerminal = true }},
		{"only Out and Err are", terminals},
	} {
		t.Run(c.name, func(t *testing.T) {
			// which also sees to it that In is not read
			r := runOn(t, shelf(), c.change, "note", "delete", "--title", "x")
			assert.Equal(t, r.err, failure)
			assert.Equal(t, r.out, "")
			assert.Equal(t, r.code, 7)
		})
	}
	r := runOn(t, shelf(), asked("y\n"), "note", "delete", "--title", "-")
	assert.Equal(t, r.err, failure)
	assert.Equal(t, r.sent, `{"title":"y\n"}`)
	r = runOn(t, shelf(), nil, "note", "delete", "--title", "x", "-o", "json")
	assert.Equal(t, r.err,
		`{"success":false,"data":null,"error":{"code":"confirmation_required","message":"Delete a note. This cannot be undone. Give --yes to confirm it.","details":null,"recoverable":true}}`+
			"\n")

	// An interceptor may ask for what no operation said.
	refuse := func(dispatch.Handler) dispatch.Handler {
		return func(context.Context, *dispatch.Invocation) (dispatch.Result, error) {
			return nil, dispatch.Errorf(dispatch.ConfirmationRequired, "Really")
		}
	}
	var errs bytes.Buffer
	cli.Run(t.Context(), newDispatcher(shelf(), refuse), []string{"note", "add", "--title", "x"},
		cli.IO{Program: "notes", In: unread{t}, Out: io.Discard, Err: &errs})
	assert.Equal(t, errs.String(), "notes: note add: confirmation_required: Really.\n")
}

// What is asked cannot act on the terminal, and is one question.
func TestQuestions(t *testing.T) {
	for message, want := range map[string]string{
		"This replaces it":             "This replaces it.",
		"This replaces it. ":           "This replaces it.",
		"Replace it?":                  "Replace it?",
		"a\x1b[2Jb\r\nc\u202ed\x1b]0;": `ab c\u202ed\u001b]0;.`,
	} {
		r := runOn(t, shelf(), asked("y\n"), "note", "put", "--title", message)
		assert.Equal(t, r.err, "notes: note put: "+want+" Go on? [y/N] ")
		assert.Equal(t, r.out, "put\n")
		r = runOn(t, shelf(), asked("\n"), "note", "put", "--title", message, "-o", "json")
		assert.Assert(t, strings.Contains(r.err, ` It was declined.","details":null`), r.err)
		assert.Assert(t, !strings.Contains(r.err, "\x1b"), "%q", r.err)
	}
}

func TestCancelWhileAsking(t *testing.T) {
	in, typing := io.Pipe()
	defer typing.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var errs strings.Builder
	reading := make(chan struct{})
	go func() {
		<-reading
		cancel()
	}()
	std := cli.IO{Program: "notes", In: signalling{in, reading}, Out: io.Discard, Err: &errs,
		InTerminal: true, ErrTerminal: true}
	code := cli.Run(ctx, newDispatcher(shelf()), []string{"note", "delete", "--title", "x"}, std)
	assert.Equal(t, code, 130)
	assert.Equal(t, errs.String(),
		"notes: note delete: Delete a note. This cannot be undone. Go on? [y/N] \nnotes: note delete: cancelled: interrupted while waiting for an answer\n")
}

// The flag is there where it means something, and nowhere else.
func TestYesFlag(t *testing.T) {
	for _, c := range []struct{ args, sent, err string }{
		{"note delete --title a --yes=true", "",
			"notes: note delete: invalid_input: --yes takes no value\n"},
		{"note delete --title a -y=", "", "notes: note delete: invalid_input: -y takes no value\n"},
		{"note delete --title a --yes:=true", "",
			"notes: note delete: invalid_input: --yes is reserved; give the property of that name in --json\n"},
		{"note delete --title a --no-yes", "",
			"notes: note delete: invalid_input: unknown flag --no-yes; notes note delete --help lists the flags\n"},
		{"note delete --title a --yse", "",
			"notes: note delete: invalid_input: unknown flag --yse; did you mean --yes?\n"},
		{`note delete --yes --json {"title":"a","yes":true}`, `{"title":"a","yes":true}`, ""},
		{`note delete --yes --json {"title":"a","yes":1}`, `{"title":"a","yes":1}`,
			"notes: note delete: invalid_input: yes must be a boolean, not 1\n"},
		{"note add --title a --yes", `{"title":"a","yes":true}`, ""}, // a property
		{"note add --title a --no-yes", `{"title":"a","yes":false}`, ""},
		{"note add --title a -y", "",
			"notes: note add: invalid_input: unknown flag -y; notes note add --help lists the flags"},
		{"note put --title new --yes", `{"title":"new"}`, ""},
		{"--yes note put", "",
			"notes: missing_param: no operation is named; notes --help lists them\n"},
	} {
		t.Run(c.args, func(t *testing.T) {
			r := runOn(t, shelf(), nil, strings.Fields(c.args)...)
			assert.Equal(t, r.sent, c.sent)
			assert.Assert(t, strings.HasPrefix(r.err, c.err), r.err)
			assert.Equal(t, r.err == "", c.err == "", r.err)
		})
	}
	assert.Equal(t, run(t, nil, "test", "wait", "--yes").err,
		"notes: test wait: invalid_input: unknown flag --yes; notes test wait --help lists the flags\n")

	help := runOn(t, shelf(), nil, "note", "delete", "--help").out
	assert.Assert(t, strings.Contains(help, "\n  --yes, -y "), help)
	assert.Assert(t, !strings.Contains(help, "--[no-]yes"), help)
	assert.Assert(t, strings.Contains(strings.ReplaceAll(help, "\n", " "), "Only --json takes yes."), help)
	assert.Assert(t,
		strings.Contains(runOn(t, shelf(), nil, "note", "put", "--help").out, "\n  --yes, -y "))
	help = runOn(t, shelf(), nil, "note", "add", "--help").out
	assert.Assert(t, !strings.Contains(help, "--yes, -y"), help)
	assert.Assert(t, strings.Contains(help, "--[no-]yes"), help)
	assert.Equal(t, runOn(t, shelf(), nil, "__complete", "note", "delete", "--y").out,
		"--yes\tConfirm in advance\n")
	assert.Equal(t, runOn(t, shelf(), nil, "__complete", "note", "delete", "--yes=").out, "")
}

// The names json and help are as reserved as they are said to be.
func TestReservedFlags(t *testing.T) {
	for _, arg := range []string{"--json:=1", "--help=x", "--help:=1"} {
		r := run(t, nil, "open", arg)
		name, _, _ := strings.Cut(strings.ReplaceAll(arg, ":", ""), "=")
		assert.Equal(t, r.err, "notes: open: invalid_input: "+name+
			" is reserved; give the property of that name in --json\n")
	}
}

// On failure too, the envelope says in which session.
func TestSessionInEnvelope(t *testing.T) {
	sessions := dispatch.SessionOptions[string]{Close: func(context.Context, string, string) error {
		return nil
	}}.New()
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "shell.open", Summary: "Open a shell.",
		Type: dispatch.Lifecycle, Errors: []dispatch.Code{dispatch.StateError}},
		func(ctx context.Context, _ struct{}) (string, error) {
			return sessions.Open(ctx,
				func(context.Context) (string, string, error) { return "s1", "hello", nil })
		})
	dispatch.Add(c, dispatch.Spec{Name: "shell.say", Summary: "Say something.",
		Type: dispatch.Write, Errors: []dispatch.Code{dispatch.NotFound}},
		func(ctx context.Context, in struct {
			dispatch.Session
			dispatch.Instance
			Fail bool `json:"fail,omitempty"`
		}) (string, error) {
			value, err := sessions.Get(ctx, in.Session.Session)
			if err == nil && in.Fail {
				err = dispatch.Errorf(dispatch.NotFound, "no word")
			}
			return value, err
		})
	help := runOn(t, c, nil, "shell", "say", "--help").out
	for _, head := range []string{"--session string   ", "--instance string  "} {
		assert.Assert(t, strings.Contains(help, head), help)
	}
	assert.Assert(t,
		strings.HasPrefix(runOn(t, c, nil, "__complete", "shell", "say", "--s").out,
			"--session\tWhich session"))

	script := "shell open\nshell say\nshell say --session s1 -o text\nshell say --fail\nshell open"
	r := runOn(t, c, input(script), "-o", "json", "-")
	assert.Equal(t, r.out, `{"success":true,"data":"s1","error":null,"_meta":{"session_id":"s1"}}
{"success":true,"data":"hello","error":null,"_meta":{"session_id":"s1"}}
hello
`)
	assert.Equal(t, r.err,
		`{"success":false,"data":null,"error":{"code":"not_found","message":"line 4: no word","details":null,"recoverable":true},"_meta":{"session_id":"s1"}}`+
			"\n")
	assert.Equal(t, r.code, 5)
	r = runOn(t, c, nil, "shell", "say", "--session", "s2")
	assert.Equal(t, r.err,
		"notes: shell say: not_running: no session \"s2\" is running, only s1\n")
}
