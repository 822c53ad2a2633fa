// Package calls holds the commands that list and use what a server has: ls, call, read, prompt,
// complete and inspect.
package calls

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/elicit"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/load"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/observe"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/near"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

// CallCommand is stdwire call.
func CallCommand() command.Command {
	return command.Command{
		Name: "call", Usage: "TOOL [NAME=VALUE | NAME:=JSON | NAME=@FILE]… [-d JSON|@FILE|-] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "call a tool of a server, and print its result",
		Help: `The value of an argument is converted to the type in the tool's schema: n=5 is a number where
the schema has a number, id=012 a string where it has a string. A name that is given several
times makes an array; a.b=1 sets the member b of the object a. With := the value is JSON; @FILE in
place of a value is the content of a file. -d is the whole object of arguments, - for stdin; the
other arguments are added to it.

Arguments are validated against the schema before they are sent. text formats the result for
people; json prints it as the server wrote it; raw prints the content alone: the text of a text
block, the bytes of an image. If the tool reports a failure, the exit code is 5, or 7 if it refuses
the call; with text and raw, stdout is then empty.

At a terminal stdwire asks you the questions of the server, including its requests to a model.
Elsewhere it tells the server that nobody can be asked. --yes answers a question that only asks for
a confirmation. --sample COMMAND answers the requests to a model in your place: COMMAND reads the
params of sampling/createMessage from stdin and writes the result, such as
{"content":{"type":"text","text":"…"}}, to stdout. It is stopped after 5 minutes.

--repeat N makes N calls, M of them at the same time with --concurrency M. It prints the calls a
second, their latency (p50 is the time within which half of them were answered), and the errors by
kind. The exit code is 5 if a call failed.

  stdwire call fs_read --root . path=README.md lines=10
  stdwire call fs_search --root . pattern=TODO exclude=vendor exclude=.git
  stdwire call fs_write path=notes.txt content=@draft.txt --write
  stdwire call fs_read --root . path=README.md --repeat 1000 --concurrency 8
  stdwire call get-sum a=2 b=3 -- npx -y @modelcontextprotocol/server-everything`,
		Make: func() (command.Grammar, command.Runner) {
			c := &Call{Target: target.NewTarget().OrServers()}
			flags := append([]command.Flag{
				command.FormatFlag(&c.output, "text", "json", "raw"),
				{Name: "-d", Value: "JSON|@FILE|-", Help: "the arguments as one JSON object",
					Synonyms: []string{"--data", "--arguments", "--params"},
					Set: func(value string) error {
						c.hasData, c.data = true, value
						return nil
					}},
				output.SaveFlag(&c.save),
				TimeoutFlag(&c.Timeout),
				command.SwitchFlag(&c.yes, "--yes",
					"answer yes if the server asks for a confirmation"),
				command.SwitchFlag(&c.noValidate, "--no-validate", "do not validate the arguments against the schema"),
				command.SwitchFlag(&c.watch, "--watch",
					"show on stderr what the server tells meanwhile: progress, the status of a task, and log messages"),
				command.SwitchFlag(&c.task, "--task",
					"if the call becomes a task, print its id and do not wait; see stdwire task"),
			}, slices.Concat(c.loadFlags(), c.Target.Flags(), c.observed.Flags())...)
			return command.Grammar{Flags: flags, Word: c.word,
				Argument: "an argument of the tool is written %s=VALUE", Connection: c.Target.SetConnection,
				Address: c.address,
				Command: c.Target.Command}, c.run
		},
	}
}

// address takes the address of the server before the tool. What follows the tool is its arguments.
func (c *Call) address(word string) (bool, error) {
	if c.Tool != "" {
		return false, nil
	}
	return c.Target.TakeAddress(word)
}

// A Call holds the options of stdwire call.
type Call struct {
	Target      *target.Target
	Tool        string
	second      string // a word after Tool that is no argument; "" if there is none
	assignments []arguments.Assignment
	data        string // of -d
	hasData     bool   // -d is given
	Timeout     time.Duration
	noValidate  bool
	yes         bool
	watch       bool
	task        bool
	output      string
	save        string // directory; "": nothing is saved
	observed    observe.Flags
	load        load.Plan // with Calls or Time: repeat the call
}

// Word parses the tool or an argument.
func (c *Call) Word(word string) error {
	if c.Tool == "" {
		if word == "" {
			return command.Usagef("the tool's name is empty")
		}
		c.Tool = word
		return nil
	}
	a, err := arguments.ParseAssignment(word)
	c.assignments = append(c.assignments, a)
	return err
}

// word is Word, except that it stores a second word that is not an argument. The configuration is
// needed for the error about it, which run returns.
func (c *Call) word(word string) error {
	if c.Tool != "" && c.second == "" && word != "" && c.assignments == nil &&
		!strings.Contains(word, "=") && !strings.HasPrefix(word, "{") {
		c.second = word
		return nil
	}
	err := c.Word(word)
	if f, ok := errors.AsType[*command.Failure](err); ok && f.Hint == "" &&
		!strings.Contains(word, "=") {
		f.Hint = "a server command follows --: -- " + word + "…"
	}
	return err
}

// unexpected returns the failure for a second word that is not an argument. The hint asks whether
// the first word is the name of a server.
func (c *Call) unexpected() error {
	_, err := arguments.ParseAssignment(c.second)
	if f, ok := errors.AsType[*command.Failure](err); ok && c.Target.IsBuiltin() &&
		c.Target.Configured.Has(c.Tool) {
		f.Hint = "did you mean -s " + c.Tool + "? stdwire call -s " + c.Tool + " " + c.second
	}
	return err
}

func (c *Call) run(ctx context.Context, std *term.Streams) (err error) {
	if c.Tool == "" {
		return command.Usagef("which tool?").WithHint("stdwire ls tools lists them")
	}
	if c.second != "" {
		return c.unexpected()
	}
	if err := c.checkLoad(); err != nil {
		return err
	}
	data := []byte("{}")
	if c.hasData {
		var err error
		if data, err = arguments.ParseData(ctx, c.data, std.In); err != nil {
			return err
		}
	}
	saver, err := output.OpenSaver(c.save)
	if err != nil {
		return err
	}
	defer saver.Close()
	recorder, err := c.observed.Open(std, slog.New(slog.NewTextHandler(std.Err, nil)))
	if err != nil {
		return err
	}
	defer recorder.Close()
	ctx, span := recorder.StartSpan(ctx, "stdwire call", telemetry.SpanKindInternal)
	defer func() { span.End(err) }() // before the recorder is closed
	if c.watch {
		c.Target.Options.OnLog, c.Target.Options.LogLevel = logLines(std), mcp.LevelInfo
	}
	adjust := func(o *client.Options) {
		if c.yes {
			elicit.Confirm(o)
		}
		o.Logger = recorder.Logger(o.Logger)
		recorder.Client(o, c.Target.Name())
	}
	return c.Target.UseWith(ctx, std, adjust, func(cl *client.Client) error {
		if err := c.Target.Configured.CheckAllowed(c.Tool); err != nil {
			return err
		}
		started := func() {}
		if c.Target.Servers { // which the list waits for
			started = c.Target.ShowStart(std)
		}
		tool, err := c.find(c.Target.Configured.Tools(cl, ctx))
		started()
		if err != nil {
			return c.explainMissing(ctx, std, cl, err)
		}
		arguments, err := c.Arguments(std, tool, data)
		if err != nil {
			return err
		}
		if c.repeats() {
			return c.repeat(ctx, std, cl, arguments)
		}
		if c.task {
			return c.start(ctx, std, cl, arguments, saver)
		}
		result, err := c.Send(ctx, std, cl, arguments)
		if err != nil {
			return err
		}
		v := &output.Printer{Std: std, Format: c.output, Save: saver}
		return v.ToolResult(c.Tool, result)
	})
}

// find returns the tool. A gateway that shows a tool that finds others need not list it: only the
// gateway can say then whether it has the tool, and check the arguments.
func (c *Call) find(all iter.Seq2[*mcp.Tool, error]) (*mcp.Tool, error) {
	const finds = "find_tool"
	searches := false
	tool, err := target.Find(func(yield func(*mcp.Tool, error) bool) {
		for tool, err := range all {
			searches = searches || err == nil && tool.Name == finds
			if !yield(tool, err) {
				return
			}
		}
	}, mcp.KindTool, c.Tool, func(t *mcp.Tool) string { return t.Name })
	if f, ok := errors.AsType[*command.Failure](err); ok && f.Code == "not_found" && searches {
		return &mcp.Tool{Name: c.Tool, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil
	}
	return tool, err
}

// explainMissing returns the failure for a tool that the server does not have. The hint says
// whether a flag of stdwire's own server would offer the tool, the name is that of a server, or the
// server of a gateway that has the tool is down.
func (c *Call) explainMissing(ctx context.Context, std *term.Streams, cl *client.Client,
	err error) error {
	err = target.ExplainUnlisted(ctx, cl, c.Tool, err)
	f, ok := errors.AsType[*command.Failure](err)
	if !ok || f.Code != "not_found" {
		return err
	}
	own := c.Target.IsBuiltin()
	flag, builtin := c.Target.Builtin.ClosedGate(c.Tool)
	switch {
	case !builtin:
	case c.Target.Servers:
		if strings.Contains(c.Tool, "_") { // it is a tool and no service
			f.Hint = c.Target.HintBuiltin(flag)
			return f
		}
	case flag != "" && (own || cl.ServerInfo().Name == "stdwire"):
		f.Code, f.Why, f.Hint = "denied", "it is offered with "+flag, ""
		if !own {
			f.Hint = "give " + flag + " to the stdwire serve that is the server"
		}
		return f
	}
	switch {
	case (own || c.Target.Servers) && c.Target.Configured.Has(c.Tool):
		f.Hint = "did you mean -s " + c.Tool + "? stdwire ls tools -s " + c.Tool + " lists them"
	case f.Hint == "" && cl.ServerInfo().Name != "stdwire" && !std.CanAsk():
		f.Hint = "a tool that asks may exist only at a terminal: run it with stdin and stderr on a terminal"
	}
	return f
}

// start calls the tool and prints the id of the task that the call becomes, or its result.
func (c *Call) start(ctx context.Context, std *term.Streams, cl *client.Client, arguments []byte,
	saver *output.Saver) error {
	task, err := cl.StartTool(ctx, c.Tool, json.RawMessage(arguments), client.Timeout(c.Timeout))
	if err != nil {
		return err
	}
	if task.ID() == "" {
		std.Err.Printf("note: %s did not become a task", c.Tool)
		v := &output.Printer{Std: std, Format: c.output, Save: saver}
		return v.ToolResult(c.Tool, task.State().Result)
	}
	if c.output == "json" {
		return output.PrintValue(std, task.State())
	}
	std.Out.Print(printable.Line(task.ID()) + "\n")
	return nil
}

// Arguments builds the arguments of the call and validates them against the input schema.
func (c *Call) Arguments(std *term.Streams, tool *mcp.Tool, data []byte) ([]byte, error) {
	arguments, err := arguments.BuildArguments(data, c.assignments, tool.InputSchema)
	if err != nil || c.noValidate {
		return arguments, c.AddTool(err)
	}
	compiled, err := schema.Compile(tool.InputSchema)
	if err != nil {
		std.Err.Printf("note: the arguments of %s are not checked: its schema is invalid: %s",
			tool.Name, printable.Line(err.Error()))
		return arguments, nil
	}
	err = compiled.Validate(arguments)
	if errors.Is(err, schema.ErrLimit) {
		std.Err.Printf("note: the arguments of %s are not checked: %v", tool.Name, err)
		return arguments, nil
	}
	if err != nil {
		hint := printable.TruncateRunes(strings.Join(output.Signature(tool), " "), 500)
		if unknown := unknownArguments(arguments, tool.InputSchema); unknown != "" {
			hint = unknown + ": " + hint
		}
		err = command.BadArgs("%v", err).WithHint(hint)
	}
	return arguments, c.AddTool(err)
}

// unknownArguments says which arguments the schema does not describe, and which ones may be meant,
// or returns "".
func unknownArguments(arguments, inputSchema []byte) string {
	var known, found []string
	for name := range jsonscan.Named(jsonscan.Member(inputSchema, "properties")) {
		known = append(known, name)
	}
	for name := range jsonscan.Named(arguments) {
		if known == nil || slices.Contains(known, name) || len(found) == 3 {
			continue
		}
		text := "it describes no argument " +
			printable.TruncateRunes(printable.Line(name), 60)
		if hint := near.DidYouMean(name, known); hint != "" {
			text += ", " + printable.Line(hint)
		}
		found = append(found, text)
	}
	return strings.Join(found, "; ")
}

// AddTool adds the name of the tool to err if that is a failure.
func (c *Call) AddTool(err error) error {
	if f, ok := errors.AsType[*command.Failure](err); ok {
		f.Tool, f.What = c.Tool, c.Tool
	}
	return err
}

// Send calls the tool and returns its result.
func (c *Call) Send(ctx context.Context, std *term.Streams, cl *client.Client,
	arguments []byte) (json.RawMessage, error) {
	follow := progressView{std, c.Tool, c.watch}
	result, err := follow.send(ctx,
		func(progress ...client.CallOption) (json.RawMessage, error) {
			return cl.CallToolRaw(ctx, c.Tool, json.RawMessage(arguments),
				append(progress, client.Timeout(c.Timeout))...)
		})
	if err != nil && err == context.Cause(ctx) { // interrupted as the call returned
		err = &client.CallError{Server: c.Target.Name(), Method: mcp.MethodCallTool, Tool: c.Tool,
			Err: err}
	}
	return result, err
}
