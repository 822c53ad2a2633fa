package child

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/processgroup"
)

const (
	defaultGrace = 2 * time.Second
	stuckAfter   = 10 * time.Second
)

// StartError says why a child could not be started. It wraps the cause: [exec.ErrNotFound] if no
// program of that name is on the PATH, [fs.ErrNotExist] if the path given or the working directory
// does not exist, [fs.ErrPermission] if the file is not executable.
type StartError struct {
	Command string
	Dir     string // the working directory, absolute unless it is unknown
	Path    string // the PATH that was searched; empty if Command is a path; not part of the text
	Hint    string // how to fix it, or empty; not part of the text
	Err     error
}

func (e *StartError) Error() string {
	text := fmt.Sprintf("cannot start %q: %v", e.Command, e.Err)
	if errors.Is(e.Err, exec.ErrNotFound) {
		return text
	}
	return text + " (working directory " + e.Dir + ")"
}

func (e *StartError) Unwrap() error { return e.Err }

// Start starts a child and blocks until the system has loaded the program. ctx bounds the start,
// not the life of the child: if ctx ends before the program is loaded, Start kills the child and
// returns the error of ctx.
//
// The error is a *StartError, the error of ctx, or an error about cfg.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	return start(ctx, cfg, awaitExit)
}

// start takes awaitExit, for children without a Config.Start, as a parameter so that tests can run
// the code for systems without waitid everywhere.
func start(ctx context.Context, cfg Config, awaitExit func(pid int) bool) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if cfg.Command == "" {
		return nil, errors.New("no command to start")
	}
	env, err := cfg.environ(os.Environ(), runtime.GOOS)
	if err != nil {
		return nil, err
	}
	path, err := locate(cfg, env)
	if err != nil {
		return nil, startError(cfg, env, err)
	}

	p := &Process{
		grace:      cmp.Or(cfg.Grace, defaultGrace),
		stuckAfter: stuckAfter,
		command:    cfg.Command,
		exited:     make(chan struct{}),
		killed:     make(chan struct{}),
		done:       make(chan struct{}),
	}
	start := cfg.Start
	if start == nil {
		start = func(_ context.Context, cmd *exec.Cmd) (Group, [3]*os.File, error) {
			return startOwn(cmd, awaitExit)
		}
	}
	group, pipes, err := start(ctx, &exec.Cmd{
		Path: path,
		Args: append([]string{cfg.Command}, cfg.Args...),
		Env:  env,
		Dir:  cfg.Dir,
	})
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, startError(cfg, env, explain(cfg, path, err))
	}
	if p.group = group; cfg.Start != nil {
		p.group = containedGroup{group}
	}
	p.stdin = &input{f: pipes[0]}
	p.stdout = newOutput(pipes[1])
	p.stderr = newStderr(pipes[2], cfg)
	if cfg.Started != nil {
		cfg.Started(p.Pid())
	}
	go p.stderr.run()
	go p.watch()

	if err := ctx.Err(); err != nil {
		p.Stop(ctx) // kills at once, because ctx has ended
		return nil, err
	}
	return p, nil
}

// locate finds the program on the PATH that the child will have; os/exec searches this program's.
func locate(cfg Config, env []string) (string, error) {
	if cfg.Dir != "" {
		if info, err := os.Stat(cfg.Dir); err != nil {
			return "", fmt.Errorf("the working directory cannot be used: %w",
				processgroup.Cause(err))
		} else if !info.IsDir() {
			return "", errors.New("the working directory is not a directory")
		}
	}
	path, err := processgroup.LookPath(cfg.Command, cfg.Dir, env)
	return path, processgroup.Cause(err)
}

// explain returns an error that names the cause when fork and exec report "no such file" although
// the program's file exists.
func explain(cfg Config, path string, err error) error {
	err = processgroup.Cause(err)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cfg.Dir, path)
	}
	if _, statErr := os.Stat(path); statErr == nil {
		return fmt.Errorf("the file exists, the interpreter or loader it names does not: %w", err)
	}
	return err
}

func startError(cfg Config, env []string, err error) *StartError {
	e := &StartError{Command: cfg.Command, Dir: cfg.Dir, Err: err}
	if dir, err := filepath.Abs(cfg.Dir); err == nil {
		e.Dir = dir
	}
	if !isPath(cfg.Command) {
		e.Path = processgroup.Getenv(env, "PATH")
	}
	switch {
	case !errors.Is(err, exec.ErrNotFound):
	case strings.ContainsAny(cfg.Command, " \t"):
		e.Hint = "the command contains a space: give the program and its arguments separately"
	case e.Path == "":
		e.Hint = "the variable PATH is empty: set it, or give the path of the program"
	default:
		e.Hint = "install it, or give the path of the program"
	}
	return e
}

func isPath(command string) bool { return filepath.Base(command) != command }
