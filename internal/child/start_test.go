package child

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/internal/processtest"
)

func TestStartRefuses(t *testing.T) {
	_, err := Start(t.Context(), Config{})
	assert.ErrorContains(t, err, "no command")
	_, err = Start(expired(), Config{Command: "sh"})
	assert.ErrorIs(t, err, context.Canceled)
	_, err = Start(t.Context(), Config{Command: "sh", InheritEnv: []string{"[a"}})
	assert.ErrorIs(t, err, path.ErrBadPattern)
}

func TestStartHint(t *testing.T) {
	_, err := Start(t.Context(), Config{Command: "npx -y some-server"})
	startErr, ok := errors.AsType[*StartError](err)
	assert.Assert(t, ok)
	assert.Assert(t, cmp.Contains(startErr.Hint, "separately"))
}

// A program in the working directory is not run by its bare name.
func TestStartSkipsRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	assert.NilError(t, os.WriteFile(programName, []byte("#!/bin/sh\n"), 0o755))
	for _, path := range []string{".", string(filepath.ListSeparator) + t.TempDir(), "sub/.."} {
		_, err := Start(t.Context(), Config{Command: "tool", Env: map[string]string{"PATH": path}})
		assert.ErrorIs(t, err, exec.ErrNotFound)
	}
}

// A context that ends while the program is loaded leaves no child behind.
func TestStartContextEndsLate(t *testing.T) {
	ctx := &endsAfter{Context: expired(), asked: 1}
	var pid int
	_, err := start(ctx, scripted("cat"), func(p int) bool { pid = p; return false })
	assert.ErrorIs(t, err, context.Canceled)
	assert.Assert(t, pid != 0)
	processtest.AwaitEnd(t, pid)
}

// endsAfter is a context that ends after a number of calls of Err.
type endsAfter struct {
	context.Context
	asked int
}

func (c *endsAfter) Err() error {
	if c.asked--; c.asked >= 0 {
		return nil
	}
	return c.Context.Err()
}

// The program is searched on the child's PATH, and a path starts at Dir.
func TestStartFinds(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	program := filepath.Join(dir, programName)
	image, err := os.ReadFile(self())
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(program, image, 0o755))
	for _, cfg := range []Config{
		{Command: "tool", Dir: elsewhere, Env: map[string]string{"PATH": dir}},
		{Command: "./tool", Dir: dir, Env: map[string]string{}},
		{Command: program, Dir: elsewhere, Env: map[string]string{}},
	} {
		cfg.Env[fixtureEnv] = "script"
		cfg.Args = []string{"directory"}
		p := startChild(t, cfg)
		out, err := io.ReadAll(p.Stdout())
		assert.NilError(t, err)
		got, err := os.Stat(strings.TrimSpace(string(out)))
		assert.NilError(t, err)
		want, err := os.Stat(cfg.Dir)
		assert.NilError(t, err)
		assert.Assert(t, os.SameFile(got, want), "%s", out)
	}
}

func TestStartEnvironment(t *testing.T) {
	t.Setenv("CHILD_TEST_SECRET", "hunter2")
	t.Setenv("CHILD_TEST_SLASH/y", "z")
	t.Setenv("XDG_CHILD_TEST", "kept")
	env := func(inherit ...string) string {
		cfg := scripted("environ")
		cfg.InheritEnv = inherit
		cfg.Env["ADDED"] = "one"
		p := startChild(t, cfg)
		out, err := io.ReadAll(p.Stdout())
		assert.NilError(t, err)
		return "\n" + string(out)
	}
	plain := env()
	assert.Assert(t, cmp.Contains(plain, "\nADDED=one\n"))
	assert.Assert(t, cmp.Contains(plain, "\nXDG_CHILD_TEST=kept\n"))
	assert.Assert(t, cmp.Contains(strings.ToUpper(plain), "\nPATH="))
	assert.Assert(t, !strings.Contains(plain, "hunter2"))
	assert.Assert(t, cmp.Contains(env("CHILD_TEST_S*T"), "\nCHILD_TEST_SECRET=hunter2\n"))
	assert.Assert(t, cmp.Contains(env("*"), "\nCHILD_TEST_SLASH/y=z\n"))
}
