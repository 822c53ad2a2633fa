package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

func callCommand() command {
	return command{
		name: "call", usage: "TOOL [NAME=VALUE | NAME:=JSON | NAME=@FILE]… [-d JSON|@FILE|-] [FLAG]… [-- SERVER-COMMAND…]",
		summary: "call a tool of a server, and print its result",
		help: `The value of an argument is read as the type that the tool's schema wants, so that n=5 is a number where that is wanted, and id=012 text where that is. A name that is given several times makes an array; a.b=1 is a property of a property. With := the value is JSON; @FILE, in place of either, is the content of a file. -d is the whole object of arguments, - for stdin; what else is given goes on top of it.

Arguments are checked against the schema before they are sent. As text, a result is shown for people; json is the whole of it as the server wrote it, and raw the content itself and nothing else: the text of a text, the bytes of a picture. If the tool says that it failed, the exit code is 5, and but for json there is nothing on stdout.

At a terminal, what the server wants to know meanwhile is asked there. Elsewhere a server is told that there is nobody to ask.

  stdwire call fs_read path=README.md lines=10
  stdwire call fs_search pattern=TODO exclude=vendor exclude=.git
  stdwire call fs_write path=notes.txt content=@draft.txt --write
  stdwire call get-sum a=2 b=3 -- npx -y @modelcontextprotocol/server-everything`,
		make: func() (grammar, runner) {
			c := &call{target: newTarget()}
			flags := append([]flag{
				format(&c.output, "text", "json", "raw"),
				{name: "-d", value: "JSON|@FILE|-", help: "the arguments as one JSON object", set: func(value string) error {
					c.given, c.data = true, value
					return nil
				}},
				saveFlag(&c.save),
				timeoutFlag(&c.timeout),
				toggle(&c.noValidate, "--no-validate", "send the arguments unchecked"),
				toggle(&c.watch, "--watch", "show on stderr what the server tells meanwhile: progress, the status of a task, and log messages"),
			}, c.target.flags()...)
			return grammar{flags: flags, word: c.word, command: c.target.command}, c.run
		},
	}
}

// A call is what the command line says of one.
type call struct {
	target      *target
	tool        string
	assignments []assignment
	data        string // of -d
	given       bool   // -d is
	timeout     time.Duration
	noValidate  bool
	watch       bool
	output      string
	save        string // directory; "": nothing is saved
}

func (c *call) word(word string) error {
	if c.tool == "" {
		if word == "" {
			return usagef("the tool's name is empty")
		}
		c.tool = word
		return nil
	}
	a, err := parseAssignment(word)
	c.assignments = append(c.assignments, a)
	return err
}

func (c *call) run(ctx context.Context, std *streams) error {
	if c.tool == "" {
		return usagef("which tool?").withHint("stdwire tools lists them")
	}
	data := []byte("{}")
	if c.given {
		var err error
		if data, err = parseData(ctx, c.data, std.in); err != nil {
			return err
		}
	}
	saver, err := openSaver(c.save)
	if err != nil {
		return err
	}
	defer saver.close()
	if c.watch {
		c.target.options.OnLog, c.target.options.LogLevel = logLines(std), mcp.LevelInfo
	}
	return c.target.use(ctx, std, func(cl *client.Client) error {
		if err := c.target.selected.permit(c.tool); err != nil {
			return err
		}
		tool, err := findTool(c.target.selected.tools(cl, ctx), c.tool)
		if err != nil {
			if f, ok := errors.AsType[*failure](err); ok && f.hint == "" && !std.answers() {
				f.hint = "some tools are there only where somebody can be asked: run it with stdin and stderr on a terminal"
			}
			return err
		}
		arguments, err := c.arguments(std, tool, data)
		if err != nil {
			return err
		}
		result, err := c.send(ctx, std, cl, arguments)
		if err != nil {
			return err
		}
		v := &view{std: std, output: c.output, save: saver}
		return v.toolResult(c.tool, result)
	})
}

// arguments makes the arguments, and checks them.
func (c *call) arguments(std *streams, tool *mcp.Tool, data []byte) ([]byte, error) {
	arguments, err := buildArguments(data, c.assignments, tool.InputSchema)
	if err != nil || c.noValidate {
		return arguments, c.about(err)
	}
	compiled, err := schema.Compile(tool.InputSchema)
	if err != nil {
		std.err.printf("note: the arguments of %s are not checked: its schema is of no use: %s", tool.Name, printable.Line(err.Error()))
		return arguments, nil
	}
	err = compiled.Validate(arguments)
	if errors.Is(err, schema.ErrLimit) {
		std.err.printf("note: the arguments of %s are not checked: %v", tool.Name, err)
		return arguments, nil
	}
	if err != nil {
		err = badArgs("%v", err).withHint(cut(strings.Join(signature(tool), " "), 500))
	}
	return arguments, c.about(err)
}

// about adds to a failure, if it is one, the tool.
func (c *call) about(err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		f.tool, f.what = c.tool, c.tool
	}
	return err
}

// send calls the tool.
func (c *call) send(ctx context.Context, std *streams, cl *client.Client, arguments []byte) (json.RawMessage, error) {
	follow := following{std, c.tool, c.watch}
	return follow.through(ctx, func(progress ...client.CallOption) (json.RawMessage, error) {
		return cl.CallToolRaw(ctx, c.tool, json.RawMessage(arguments), append(progress, client.Timeout(c.timeout))...)
	})
}
