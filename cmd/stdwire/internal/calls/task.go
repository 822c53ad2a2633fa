package calls

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// TaskCommand is stdwire task.
func TaskCommand() command.Command {
	all := command.Subcommands{taskListCommand(), taskGetCommand(), taskCancelCommand()}
	return command.Command{
		Name: "task", Usage: "list|get|cancel [ID] [FLAG]… [-s ID | --url URL | -- SERVER-COMMAND…]",
		Summary: "list, get and cancel the tasks of a server",
		Help: `A server may continue a call as a task, whose result comes later. stdwire call waits for it, or
with --task prints the id of the task and ends. In a server at a URL the task continues. A server
that was started for a command ends with the command, and its tasks end with it.

` + all.List(),
		Make: all.Make,
	}
}

// A taskOptions holds the options of the subcommands of stdwire task.
type taskOptions struct {
	target  *target.Target
	id      string
	wait    bool
	timeout time.Duration
	output  string
}

// grammar returns the grammar of a subcommand, with a word for the id of a task if it takes one.
func (o *taskOptions) grammar(takesID bool, more ...command.Flag) command.Grammar {
	o.target = target.NewTarget().OrServers()
	var word func(string) error
	if takesID {
		word = command.Arguments(&o.id)
	}
	return o.target.Grammar(word,
		append(more, command.FormatFlag(&o.output, "text", "json"), TimeoutFlag(&o.timeout))...)
}

// use connects to the server and calls f with the task that is given.
func (o *taskOptions) use(f func(ctx context.Context, std *term.Streams,
	task *client.Task) error) command.Runner {
	return func(ctx context.Context, std *term.Streams) error {
		if o.id == "" {
			return command.Usagef("which task?").WithHint(
				"stdwire call --task prints the id of one, and stdwire task list those of a server of 2025-11-25")
		}
		return o.target.Use(ctx, std,
			func(c *client.Client) error { return f(ctx, std, c.Task(o.id)) })
	}
}

func taskListCommand() command.Command {
	return command.Command{
		Name: "task list", Usage: "[FLAG]… [-s ID | --url URL | -- SERVER-COMMAND…]",
		Summary: "list the tasks of a server of 2025-11-25",
		Help: `Prints the id, status and message of each task. The modern era has no such list: there only the
caller knows the id of a task.`,
		Make: func() (command.Grammar, command.Runner) {
			o := new(taskOptions)
			return o.grammar(false), func(ctx context.Context, std *term.Streams) error {
				return o.target.Use(ctx, std, func(c *client.Client) error {
					return o.list(ctx, std, c)
				})
			}
		},
	}
}

func (o *taskOptions) list(ctx context.Context, std *term.Streams, c *client.Client) error {
	states := []mcp.Task{}
	for task, err := range c.Tasks(ctx, client.Timeout(o.timeout)) {
		if err != nil {
			return err
		}
		states = append(states, task.State())
	}
	if o.output == "json" {
		return output.PrintValue(std, states)
	}
	var rows [][]string
	for _, t := range states {
		rows = append(rows, []string{t.TaskID, string(t.Status), t.LastUpdatedAt, t.StatusMessage})
	}
	if rows == nil {
		std.Err.Printf("the server has no tasks of this client")
	}
	std.Out.PrintTable(rows, 1)
	return nil
}

func taskGetCommand() command.Command {
	return command.Command{
		Name: "task get", Usage: "ID [--wait] [FLAG]… [-s ID | --url URL | -- SERVER-COMMAND…]",
		Summary: "print the status of a task, or its result",
		Help: `Prints the status of a task that runs, and the result of one that has ended, as stdwire call
does: if it failed or was cancelled, the exit code is 5. json prints the state, with the result in
it. --wait waits for the end, and answers the questions of the task at a terminal.`,
		Make: func() (command.Grammar, command.Runner) {
			o := new(taskOptions)
			g := o.grammar(true, command.SwitchFlag(&o.wait, "--wait", "wait for the end of the task"))
			return g, o.use(o.get)
		},
	}
}

func (o *taskOptions) get(ctx context.Context, std *term.Streams, task *client.Task) error {
	state, err := task.Poll(ctx, client.Timeout(o.timeout))
	if err != nil {
		return err
	}
	if !o.wait && !state.Status.Terminal() {
		return o.printState(std, state)
	}
	view := progressView{std: std, what: "task"}
	result, err := view.send(ctx, func(progress ...client.CallOption) (json.RawMessage, error) {
		return task.WaitRaw(ctx, append(progress, client.Timeout(o.timeout))...)
	})
	if o.output == "text" {
		if err != nil {
			return err
		}
		return (&output.Printer{Std: std, Format: o.output}).ToolResult("task", result)
	}
	if state = task.State(); err == nil {
		state.Result = result // in 2025-11-25 it is not in the state
	}
	if !state.Status.Terminal() {
		return err
	}
	if printed := o.printState(std, state); err != nil || printed != nil {
		return cmp.Or(err, printed)
	}
	quiet := *std // the result has been printed in the state
	quiet.Out = term.NewOutput(io.Discard, term.Display{})
	return (&output.Printer{Std: &quiet, Format: o.output}).ToolResult("task", result)
}

// printState prints the state of a task.
func (o *taskOptions) printState(std *term.Streams, state mcp.Task) error {
	if o.output == "json" {
		return output.PrintValue(std, state)
	}
	std.Out.Print(taskText(state) + "\n")
	return nil
}

// taskText returns the status of a task and its message.
func taskText(t mcp.Task) string {
	return command.JoinNonEmpty(": ", string(t.Status), t.StatusMessage)
}

func taskCancelCommand() command.Command {
	return command.Command{
		Name: "task cancel", Usage: "ID [FLAG]… [-s ID | --url URL | -- SERVER-COMMAND…]",
		Summary: "cancel a task",
		Help:    "Asks the server to cancel a task, and prints its status afterwards.",
		Make: func() (command.Grammar, command.Runner) {
			o := new(taskOptions)
			return o.grammar(true), o.use(o.cancel)
		},
	}
}

func (o *taskOptions) cancel(ctx context.Context, std *term.Streams, task *client.Task) error {
	if err := task.Cancel(ctx, client.Timeout(o.timeout)); err != nil {
		return err
	}
	state, err := task.Poll(ctx, client.Timeout(o.timeout))
	if err != nil {
		return err
	}
	return o.printState(std, state)
}
