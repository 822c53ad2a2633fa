package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/cli"
	"github.com/stdwire/stdwire/dispatch/schema"
)

// With this variable set, the test binary is the program that the tests are about: shells need a
// real one to complete.
const asProgram = "STDWIRE_TEST_CLI_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(asProgram); name != "" {
		catalog := notesCatalog()
		os.Exit(cli.Run(context.Background(), newDispatcher(catalog), os.Args[1:], cli.Stdio(name)))
	}
	os.Exit(m.Run())
}

type size struct {
	Width  int  `json:"width" doc:"In characters."`
	Height *int `json:"height,omitempty"`
}

type noteInput struct {
	dispatch.Instance
	Title    string            `json:"title" doc:"What the note is about. One line." maxLength:"80"`
	Format   string            `json:"format,omitempty" doc:"How the text is written." enum:"plain,markdown,html" default:"plain"`
	Count    int               `json:"count,omitempty" min:"-5"`
	Ratio    float64           `json:"ratio,omitempty"`
	Done     bool              `json:"done,omitempty" doc:"Nothing is left to do."`
	DryRun   bool              `json:"dry_run,omitempty" doc:"Only say what would happen."`
	Notify   bool              `json:"notify,omitempty" default:"true"`
	Tags     []string          `json:"tags,omitempty" doc:"Words to find it by."`
	Colours  []string          `json:"colours,omitempty" enum:"red,green,blue"`
	Levels   []int             `json:"levels,omitempty"`
	Flags    []bool            `json:"flags,omitempty"`
	Size     size              `json:"size,omitempty"`
	Env      map[string]string `json:"env,omitempty" doc:"Variables."`
	Limits   map[string]int    `json:"limits,omitempty"`
	Extra    any               `json:"extra,omitempty"`
	Blob     []byte            `json:"blob,omitempty"`
	Parent   *int              `json:"parent,omitempty"`
	Label    *string           `json:"label,omitempty"`
	Points   []size            `json:"points,omitempty"`
	Grid     [][]int           `json:"grid,omitempty"`
	Priority int               `json:"priority,omitempty" enum:"1,2,3"`
	JSON     string            `json:"json,omitempty"`
	Dotted   string            `json:"a.b,omitempty"`
	NoShow   string            `json:"no-show,omitempty"`
	Show     bool              `json:"show,omitempty"`
}

const overdrawn dispatch.Code = "overdrawn"

// notesCatalog has an operation of every sort.
func notesCatalog() *dispatch.Catalog {
	c := dispatch.NewCatalog()
	if err := c.Declare(
		dispatch.CodeInfo{Code: overdrawn, HTTPStatus: 402, ExitCode: 42,
			Summary: "There is no money left."}); err != nil {
		panic(err)
	}
	input, err := schema.For[noteInput](schema.Exact)
	if err != nil {
		panic(err)
	}
	echo := func(_ context.Context, arguments json.RawMessage) (json.RawMessage, error) {
		return bytes.Clone(arguments), nil
	}
	dispatch.Add(c, dispatch.Spec{
		Name: "note.add", Summary: "Add a note.", Type: dispatch.Write, Input: input,
		Description: "Add a note, and return its arguments.\n\nA note is never lost, whatever happens to the machine that keeps it, as long as there is another:\n  it is kept   in three places",
		Errors:      []dispatch.Code{dispatch.NotFound, overdrawn},
		Examples: []dispatch.Example{
			{Summary: "A short one",
				Input: json.RawMessage(
					`{"title":"Buy milk","tags":["home","shop"],"done":false,"size":{"width":3}}`)},
			{Summary: "One that needs JSON",
				Input: json.RawMessage(`{"title":"-","levels":[1],"grid":[[1,2]],"a.b":"@x"}`)},
		},
	}, echo)
	dispatch.Add(c, dispatch.Spec{Name: "note.archive.old", Summary: "Put old notes away.",
		Type: dispatch.Destructive},
		func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	dispatch.Add(c, dispatch.Spec{Name: "note", Summary: "Say how many notes there are.",
		Type: dispatch.Read},
		func(context.Context, struct{}) (int, error) { return 3, nil })
	dispatch.Add(c, dispatch.Spec{Name: "open", Summary: "Take any arguments.",
		Type: dispatch.Read}, echo)

	var codes []dispatch.Code
	for _, info := range c.Codes() {
		codes = append(codes, info.Code)
	}
	type failure struct {
		Code    dispatch.Code `json:"code"`
		Message string        `json:"message"`
	}
	dispatch.Add(c, dispatch.Spec{Name: "test.fail", Summary: "Fail.", Type: dispatch.Read,
		Errors: codes},
		func(_ context.Context, in failure) (struct{}, error) {
			return struct{}{}, dispatch.Errorf(in.Code, "%s", in.Message)
		})
	dispatch.Add(c, dispatch.Spec{Name: "test.print", Summary: "Return what is given.",
		Type: dispatch.Read},
		func(_ context.Context, in struct {
			Data json.RawMessage `json:"data"`
		}) (json.RawMessage, error) {
			return in.Data, nil
		})
	dispatch.Add(c, dispatch.Spec{Name: "test.wait", Summary: "Wait until cancelled.",
		Type: dispatch.Wait},
		func(ctx context.Context, _ struct{}) (struct{}, error) {
			dispatch.Progress(ctx, 1, 4, "waiting\x1b[2J")
			<-ctx.Done()
			return struct{}{}, ctx.Err()
		})
	return c
}

func newDispatcher(c *dispatch.Catalog, interceptors ...dispatch.Interceptor) *dispatch.Dispatcher {
	return dispatch.Options{Logger: slog.New(slog.DiscardHandler),
		Interceptors: interceptors}.New(c)
}

// A result is what a run of the program did.
type result struct {
	code     int
	out, err string
	sent     string // the arguments that the dispatcher got, "" if it was not called
}

// run runs the notes program on its words, with this much changed of where it is connected to.
func run(t *testing.T, change func(*cli.IO), args ...string) result {
	t.Helper()
	return runOn(t, notesCatalog(), change, args...)
}

func runOn(t *testing.T, catalog *dispatch.Catalog, change func(*cli.IO),
	args ...string) (r result) {
	t.Helper()
	listen := func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
			r.sent = string(i.Arguments)
			assert.Assert(t, json.Valid(i.Arguments), r.sent)
			assert.Equal(t, i.Surface, "cli")
			return next(ctx, i)
		}
	}
	var out, errs bytes.Buffer
	std := cli.IO{Program: "notes", In: unread{t}, Out: &out, Err: &errs}
	if change != nil {
		change(&std)
	}
	r.code = cli.Run(t.Context(), newDispatcher(catalog, listen), args, std)
	r.out, r.err = out.String(), errs.String()
	return r
}

// unread is a standard input that must be left alone.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("standard input was read")
	return 0, io.EOF
}

func input(text string) func(*cli.IO) {
	return func(std *cli.IO) { std.In = strings.NewReader(text) }
}

func terminals(std *cli.IO) { std.OutTerminal, std.ErrTerminal = true, true }

// anything takes and returns nothing of interest.
func anything(context.Context, json.RawMessage) (struct{}, error) { return struct{}{}, nil }
