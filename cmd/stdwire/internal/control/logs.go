package control

import (
	"context"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	ops "github.com/stdwire/stdwire/cmd/stdwire/internal/ops/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// logsCommand returns the command stdwire logs.
func logsCommand() command.Command {
	return command.Command{
		Name: "logs", Usage: "ID|@NAME [-f] [--pid N]",
		Summary: "show what a server of a gateway or connection prints",
		Help: `ID is the id of a server, and @NAME a connection of stdwire connect. Prints the latest output of
the server's processes, at most 64 KiB, and when and how each of them started and ended. -f
continues with new output until Ctrl-C. Control sequences are removed or escaped.`,
		Make: func() (command.Grammar, command.Runner) {
			l := new(logsOptions)
			return command.Grammar{
				Flags: []command.Flag{
					command.SwitchFlag(&l.follow, "-f", "follow: continue with new output"),
					pidFlag(&l.pid)}, Word: command.Arguments(&l.id)}, l.run
		},
	}
}

// logsOptions are the options of stdwire logs.
type logsOptions struct {
	id     string
	follow bool
	pid    int
}

func (l *logsOptions) run(ctx context.Context, std *term.Streams) error {
	if l.id == "" {
		return command.Usagef("which server?").WithHint("stdwire status lists the servers")
	}
	find := l.gateway
	if strings.HasPrefix(l.id, "@") {
		if l.pid != 0 {
			return command.Usagef("--pid is for a server of a gateway")
		}
		find = l.connection
	}
	all, g, err := find(ctx, std)
	if err != nil {
		return err
	}
	defer closeAll(all)
	const wait = 30 // seconds
	in := ops.LogsInput{Server: l.id}
	lines := &lineWriter{out: std.Out}
	for {
		var got ops.LogsOutput
		if err := g.call(ctx, "host.logs", in, &got); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
		lines.add(std, got)
		if !l.follow {
			lines.end()
			if got.Text == "" && got.Next == 0 {
				std.Err.Printf("note: %s was not started yet, or has written nothing; "+
					"stdwire status shows its state", l.id)
			}
			return nil
		}
		if err := std.Out.Flush(); err != nil {
			return err
		}
		in.After, in.Wait = got.Next, wait
	}
}

// gateway returns the gateway that has the server, and all gateways.
func (l *logsOptions) gateway(ctx context.Context, std *term.Streams) (all []*gatewayClient,
	g *gatewayClient, err error) {
	if all, err = runningGateways(ctx, std); err != nil {
		return nil, nil, err
	}
	selected, err := withPid(all, l.pid)
	if err == nil {
		g, err = withServer(selected, l.id)
	}
	return all, g, err
}

// connection returns all connections and the one with that name, and sets id to the id of its
// server.
func (l *logsOptions) connection(ctx context.Context, std *term.Streams) (all []*gatewayClient,
	g *gatewayClient, err error) {
	if all, err = connections(ctx, std); err != nil {
		return nil, nil, err
	}
	selected, err := withNames(all, []string{l.id[1:]})
	if err != nil {
		return all, nil, err
	}
	l.id = selected[0].server().Server
	return all, selected[0], nil
}

// A lineWriter prints untrusted text in whole lines, because part of a control sequence looks like
// text.
type lineWriter struct {
	out  *term.Output
	rest string // an incomplete line
}

// add prints new output. If earlier output was discarded, it first prints the incomplete line and
// a note.
func (w *lineWriter) add(std *term.Streams, got ops.LogsOutput) {
	if got.Missed > 0 {
		w.end()
		_ = w.out.Flush() // the writer keeps its error
		std.Err.Printf("note: %d earlier bytes were discarded", got.Missed)
	}
	w.write(got.Text)
}

func (w *lineWriter) write(text string) {
	text = w.rest + text
	end := strings.LastIndexByte(text, '\n') + 1
	if end == 0 && len(text) > target.MaxLogLine {
		end = len(text)
	}
	w.out.Print(text[:end])
	w.rest = text[end:]
}

// end prints the incomplete line.
func (w *lineWriter) end() {
	if w.rest != "" {
		w.write("\n")
	}
}
