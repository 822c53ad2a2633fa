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

// StartError says why a child could not be started. It wraps the cause:
// [exec.ErrNotFound] if no program of that name is on the PATH, [fs.ErrNotExist] if the
// path given or the working directory does not exist, [fs.ErrPermission] if it
// may not be executed.
type StartError struct {
	Command string
	Dir     string // the working directory, absolute unless it is unknown
	Path    string // the PATH that was searched; empty if Command is a path
	Hint    string // a way out, if one can be told; not part of the text
	Err     error
}

func (e *StartError) Error() string {
	where := fmt.Sprintf("working directory %s", e.Dir)
	if e.Path != "" {
		where = fmt.Sprintf("PATH %s, %s", e.Path, where)
	}
	return fmt.Sprintf("cannot start %q: %v (%s)", e.Command, e.Err, where)
}

func (e *StartError) Unwrap() error { return e.Err }

// Start starts a child. It blocks for as long as the system takes to load the
// program. ctx bounds the start, not the life of the child: when it has ended by
// then, the child is killed and the error is that of ctx.
//
// The error is a *StartError, that of ctx, or says what is wrong with cfg.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	return start(ctx, cfg, awaitExit)
}

// start is Start with the way to notice an exit as a parameter, so that the one
// for systems without waitid can be tested everywhere.
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
	theirs, ours, err := openPipes()
	if err != nil {
		return nil, startError(cfg, env, err)
	}
	cmd := &exec.Cmd{
		Path:   path,
		Args:   append([]string{cfg.Command}, cfg.Args...),
		Env:    env,
		Dir:    cfg.Dir,
		Stdin:  theirs[0],
		Stdout: theirs[1],
		Stderr: theirs[2],
	}
	p.group, err = processgroup.Start(cmd)
	// The child has its own copies. Ours would keep the pipes from ever ending.
	closeAll(theirs[:]...)
	if err != nil {
		closeAll(ours[:]...)
		return nil, startError(cfg, env, explain(cfg, path, err))
	}
	p.stdin = &input{f: ours[0]}
	p.stdout = newOutput(ours[1])
	p.stderr = newStderr(ours[2], cfg)
	if cfg.Started != nil {
		cfg.Started(p.Pid())
	}
	go p.stderr.run()
	go p.watch(awaitExit)

	if err := ctx.Err(); err != nil {
		p.Stop(ctx) // kills at once, as ctx has ended
		return nil, err
	}
	return p, nil
}

// openPipes opens three pipes: for stdin, stdout, stderr.
func openPipes() (theirs, ours [3]*os.File, err error) {
	for i, open := range []func() (theirs, ours *os.File, err error){
		processgroup.InputPipe, processgroup.OutputPipe, processgroup.OutputPipe,
	} {
		if theirs[i], ours[i], err = open(); err != nil {
			closeAll(theirs[:i]...)
			closeAll(ours[:i]...)
			return theirs, ours, err
		}
	}
	return theirs, ours, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// locate finds the program. os/exec would search this program's PATH; what was
// configured is the child's.
func locate(cfg Config, env []string) (string, error) {
	if cfg.Dir != "" {
		if info, err := os.Stat(cfg.Dir); err != nil {
			return "", fmt.Errorf("the working directory cannot be used: %w", processgroup.Cause(err))
		} else if !info.IsDir() {
			return "", errors.New("the working directory is not a directory")
		}
	}
	path, err := processgroup.LookPath(cfg.Command, cfg.Dir, env)
	return path, processgroup.Cause(err)
}

// explain turns the error of fork and exec, which says "no such file" of a file that
// exists, into one that names the cause.
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
		e.Path = cmp.Or(processgroup.Getenv(env, "PATH"), "(empty)")
	}
	if errors.Is(err, exec.ErrNotFound) && strings.ContainsAny(cfg.Command, " \t") {
		e.Hint = "the command contains a space: give the program and its arguments separately"
	}
	return e
}

func isPath(command string) bool { return filepath.Base(command) != command }
