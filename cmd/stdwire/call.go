package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
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

Arguments are checked against the schema before they are sent. As text, a result is shown for people; json and raw are the result as the server wrote it. If the tool says that it failed, the exit code is 5, and as text there is nothing on stdout.

  stdwire call fs_read path=README.md lines=10
  stdwire call fs_search pattern=TODO exclude=vendor exclude=.git
  stdwire call fs_write path=notes.txt content=@draft.txt --write
  stdwire call get-sum a=2 b=3 -- npx -y @modelcontextprotocol/server-everything`,
		make: func() (grammar, runner) {
			c := &call{target: newTarget(), timeout: 5 * time.Minute}
			flags := append([]flag{
				format(&c.output, "text", "json", "raw"),
				{name: "-d", value: "JSON|@FILE|-", help: "the arguments as one JSON object", set: func(value string) error {
					c.given, c.data = true, value
					return nil
				}},
				duration(&c.timeout, "--timeout", "how long to wait for the result, or for progress"),
				toggle(&c.noValidate, "--no-validate", "send the arguments unchecked"),
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
	output      string
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
	return c.target.use(ctx, std, func(cl *client.Client) error {
		tool, err := findTool(ctx, cl, c.tool)
		if err != nil {
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
		return printResult(std, c.tool, result, c.output)
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

// send calls the tool, and shows meanwhile that something is going on.
func (c *call) send(ctx context.Context, std *streams, cl *client.Client, arguments []byte) ([]byte, error) {
	var latest atomic.Value // string
	latest.Store("waiting")
	const patience = 3 * time.Second
	stop := std.err.during(patience, func(elapsed time.Duration) string {
		return fmt.Sprintf("%s: %s %s", c.tool, elapsed.Round(time.Second), latest.Load())
	})
	defer stop()
	return cl.CallToolRaw(ctx, c.tool, jsonText(arguments), client.Timeout(c.timeout), client.OnProgress(func(p mcp.ProgressParams) {
		text := progressText(p)
		latest.Store(text)
		std.err.status(c.tool + ": " + text)
	}))
}

// progressText shows progress: 40% of what is known to end, or else how much there is.
func progressText(p mcp.ProgressParams) string {
	text := fmt.Sprintf("%g", p.Progress)
	if p.Total != nil && *p.Total > 0 {
		text = fmt.Sprintf("%.0f%%", 100*p.Progress / *p.Total)
	}
	if p.Message != "" {
		text += " " + p.Message
	}
	return text
}
