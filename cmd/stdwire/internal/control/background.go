package control

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// startBackground starts this program with args as a process that outlives this one. It returns
// once that process has printed the line ready, and copies earlier output to stderr. If the process
// ends before, the error is its [command.ExitStatus]. If ctx ends before, the process is killed.
func startBackground(ctx context.Context, std *term.Streams, args []string, ready string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, args...)
	cmd.SysProcAttr = detached()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout // one pipe, so that the line is the last
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the background process: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if line == ready+"\n" && stop() {
			return cmd.Process.Release()
		}
		_, _ = io.WriteString(std.Err, line)
		if err == nil {
			continue
		}
		err = cmd.Wait()
		stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
			return command.ExitStatus(exit.ExitCode())
		}
		return fmt.Errorf("the background process ended early: %v", cmp.Or(err, io.ErrUnexpectedEOF))
	}
}
