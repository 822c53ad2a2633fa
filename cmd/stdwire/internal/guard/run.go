package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Run runs a command with input as its stdin and returns its stdout. It kills the command when ctx
// ends or its stdout has more than maxOutput bytes. It also returns the first maxStderr bytes of
// stderr, with an error too. The error is a [*StartError], the cause of ctx, or says that the
// output is too long or cannot be read, or how the command failed. Run may return before a process
// that it has killed has ended.
func Run(ctx context.Context, c Command, input []byte, maxOutput, maxStderr int) (output,
	stderr []byte, err error) {
	p, err := Start(ctx, c)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case err != nil:
		return nil, nil, err
	}
	defer p.Kill()
	var piping sync.WaitGroup
	piping.Go(func() {
		_, _ = p.Stdin().Write(input) // the command may ignore its input
		_ = p.Stdin().Close()
	})
	piping.Go(func() {
		stderr, _ = io.ReadAll(io.LimitReader(p.Stderr(), int64(maxStderr)))
		_, _ = io.Copy(io.Discard, p.Stderr())
	})
	piping.Go(func() {
		output, err = io.ReadAll(io.LimitReader(p.Stdout(), int64(maxOutput)+1))
		if len(output) > maxOutput {
			p.Kill()
		}
	})
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Kill()
	}
	// The pipes end now, unless a process that left the group still holds one.
	closePipes := func() { _, _, _ = p.Stdin().Close(), p.Stdout().Close(), p.Stderr().Close() }
	stop := context.AfterFunc(ctx, closePipes)
	piping.Wait()
	stop()
	closePipes()
	switch {
	case len(output) > maxOutput:
		return nil, stderr, fmt.Errorf("its answer has more than %d bytes", maxOutput)
	case ctx.Err() != nil:
		return nil, stderr, context.Cause(ctx)
	case err != nil:
		return nil, stderr, fmt.Errorf("its answer cannot be read: %w", err)
	}
	if exit := p.Exit(); exit != (Exit{}) {
		return nil, stderr, errors.New(exit.String())
	}
	return output, stderr, nil
}
