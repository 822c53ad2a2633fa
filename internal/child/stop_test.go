package child

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/internal/eventually"
	"github.com/stdwire/stdwire/internal/processtest"
)

// rung is a step of the shutdown at which a child ends, and the expected exit.
type rung struct {
	name   string
	cfg    Config
	grace  time.Duration
	graces time.Duration // how many have passed
	want   string
}

// Each child ends at the step of the shutdown that it obeys.
func TestStopLadder(t *testing.T) {
	const long, short = 2 * patience, 40 * time.Millisecond
	deaf := fixture("stubborn")
	for _, rung := range append(systemRungs(short), []rung{
		{"end of stdin", scripted("out ready", "cat", "exit 4"), long, 0,
			"exited with status 4"},
		{"SIGKILL without grace", deaf, -1, 0, "ended by signal: killed"},
	}...) {
		t.Run(rung.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, awaitExit func(int) bool) {
				// A child that is slow to obey is killed: it gets more time then.
				cfg := rung.cfg
				for cfg.Grace = rung.grace; ; cfg.Grace *= 5 {
					p := startAs(t, cfg, awaitExit)
					assert.Equal(t, readLine(t, p.Stdout()), "ready")
					began := time.Now()
					exit, err := p.Stop(t.Context())
					took := time.Since(began)
					assert.NilError(t, err)
					if exit.Error() != rung.want && 0 < cfg.Grace && cfg.Grace < patience/5 {
						continue
					}
					assert.Equal(t, exit.Error(), rung.want)
					assert.Equal(t, exit.Stopped, true)
					least := rung.graces * cfg.Grace
					assert.Assert(t, least <= took && took <= patience, "took %v", took)
					processtest.AwaitEnd(t, p.Pid())
					break
				}
			})
		})
	}
}

func TestStopContextCutsGrace(t *testing.T) {
	cfg := fixture("stubborn")
	cfg.Grace = time.Minute
	p := startChild(t, cfg)
	assert.Equal(t, readLine(t, p.Stdout()), "ready")
	patient := make(chan error)
	go func() { patient <- p.Close() }()
	eventually.True(t, "the first Stop is at it", p.stopped.Load)
	exit, err := p.Stop(expired())
	assert.NilError(t, err)
	assert.Equal(t, exit.Signal, os.Signal(syscall.SIGKILL))
	assert.NilError(t, <-patient)
}

func TestStopEndsTheWholeGroup(t *testing.T) {
	bothWays(t, func(t *testing.T, awaitExit func(int) bool) {
		// A launcher such as npx ends on SIGTERM, the program that it launched does not.
		cfg := scripted("spawn hang", "spawn stubborn", "hang")
		cfg.Grace = 20 * time.Millisecond
		p := startAs(t, cfg, awaitExit)
		one, two := readPid(t, p.Stdout()), readPid(t, p.Stdout())
		assert.NilError(t, p.Close())
		processtest.AwaitEnd(t, one, two)
	})
}

func TestStopConcurrently(t *testing.T) {
	p := startChild(t, scripted("cat"))
	exits := make([]*ExitError, 20)
	var all sync.WaitGroup
	for i := range exits {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*time.Minute)
			defer cancel()
			if i == 0 {
				ctx = context.Background()
			}
			exits[i], _ = p.Stop(ctx)
		})
	}
	all.Wait()
	for _, exit := range exits {
		assert.DeepEqual(t, *exit, ExitError{Stopped: true, BeforeReady: true})
	}
	exit, err := p.Stop(expired()) // after the end, too
	assert.NilError(t, err)
	assert.Equal(t, exit.Status, 0)
	assert.NilError(t, p.Close())
}

func TestStopUnblocksReaderAndWriter(t *testing.T) {
	cfg := fixture("stubborn")
	cfg.Grace = 20 * time.Millisecond
	p := startChild(t, cfg)
	assert.Equal(t, readLine(t, p.Stdout()), "ready")
	read, wrote := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := p.Stdout().Read(make([]byte, 1))
		read <- err
	}()
	go func() {
		_, err := p.Stdin().Write(make([]byte, 1<<20))
		wrote <- err
	}()
	assert.NilError(t, p.Close())
	assert.Equal(t, <-read, io.EOF)
	assert.ErrorIs(t, <-wrote, os.ErrClosed)
}

func TestStuck(t *testing.T) {
	release := make(chan struct{})
	cfg := scripted("cat")
	cfg.Grace = -1
	p := startAs(t, cfg, func(int) bool { <-release; return false })
	p.stuckAfter = 20 * time.Millisecond
	_, err := p.Stop(t.Context())
	assert.ErrorIs(t, err, ErrStuck)
	assert.Assert(t, cmp.Contains(err.Error(), fmt.Sprintf("%q, process %d", self(), p.Pid())))
	assert.ErrorIs(t, p.Close(), ErrStuck)
	close(release)
	awaitDone(t, p)
}
