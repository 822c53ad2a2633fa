package control

import (
	"bufio"
	"context"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// runGuarded runs this program with args under a guard, so that no descendant of it survives, in
// whatever way it or this process ends. The line ready goes to stdout, and other output to stderr.
// If ctx ends, the program gets SIGTERM and time to end its server. The error is the program's
// [command.ExitStatus] or the cause of ctx.
func runGuarded(ctx context.Context, std *term.Streams, args []string, ready string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := guard.Start(ctx,
		guard.Command{Name: self, Args: args, Env: os.Environ(), Merged: true})
	if err != nil {
		return err
	}
	defer p.Kill()
	defer std.Servers.Forward(p)()
	_ = p.Stdin().Close()
	stop := context.AfterFunc(ctx, func() {
		_ = p.Signal(syscall.SIGTERM)
		const grace = 1500 * time.Millisecond // it ends within this time
		select {
		case <-p.Done():
		case <-time.After(grace):
			p.Kill()
		}
	})
	defer stop()
	for lines := bufio.NewReader(p.Stdout()); err == nil; {
		var line string
		line, err = lines.ReadString('\n')
		if line != ready+"\n" {
			_, _ = io.WriteString(std.Err, line)
			continue
		}
		std.Out.Print(line)
		if err := std.Out.Flush(); err != nil {
			return err // the command that started this one has ended
		}
	}
	<-p.Done()
	switch exit := p.Exit(); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case exit.Code > 0:
		return command.ExitStatus(exit.Code)
	case exit.Code < 0:
		return &command.Failure{Code: "server_died",
			Why: "the process of the connection was " + exit.String()}
	}
	return nil
}
