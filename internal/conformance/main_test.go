//go:build linux

package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/conformance"
)

// The programs of this module that tests run.
var (
	stdwire          = built("stdwire", "../../cmd/stdwire")
	everything       = built("everything-server", "./everything-server")
	everythingClient = built("everything-client", "./everything-client")
)

// built returns a function that returns the path of a program. The program is built once for all
// tests, in its folder, which may be of another module.
func built(name, from string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		path := filepath.Join(scratch, name)
		if out, err := exec.Command("go", "build", "-C", from, "-o", path, ".").CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
		return path, nil
	})
}

// scratch is a folder that all tests share.
var scratch string

func TestMain(m *testing.M) {
	conformance.PlayRole()
	os.Exit(func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "conformance-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(scratch)
		return m.Run()
	}())
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := stdwire()
	assert.NilError(t, err)
	return path
}

// fixture is the command of the fixture server.
func fixture(t *testing.T) []string {
	t.Helper()
	path, err := os.Executable()
	assert.NilError(t, err)
	return []string{path, conformance.RoleFixture}
}

// A bench is the working directory of a test's programs. If programs of it are still running when
// the test ends, the test fails and they are killed.
type bench struct {
	t   *testing.T
	dir string
	env []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	assert.NilError(t, err)
	b := &bench{t, dir,
		append(os.Environ(), "HOME="+dir, "npm_config_offline=true",
			"npm_config_update_notifier=false")}
	t.Cleanup(func() {
		for _, p := range conformance.KillIn(dir) {
			t.Errorf("still running: %v", p)
		}
	})
	return b
}

// ended asserts that all programs of the bench have ended.
func (b *bench) ended() {
	b.t.Helper()
	left := conformance.RunningIn(b.dir)
	assert.Equal(b.t, len(left), 0, "still running: %v", left)
}

// newNodeBench is a bench with the npm packages, and with their Node first on the PATH.
func newNodeBench(t *testing.T) *bench {
	t.Helper()
	node := os.Getenv("STDWIRE_NODE_DIR")
	if node == "" {
		t.Skip("STDWIRE_NODE_DIR is not set: there are no Node programs to talk to; see .ci/node")
	}
	b := newBench(t)
	assert.NilError(t,
		os.Symlink(filepath.Join(node, "node_modules"), filepath.Join(b.dir, "node_modules")))
	b.env = append(b.env, "PATH="+filepath.Join(node, "node_modules", ".bin")+":"+os.Getenv("PATH"))
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) write(name, content string) {
	b.t.Helper()
	assert.NilError(b.t, os.MkdirAll(filepath.Dir(b.path(name)), 0o700))
	assert.NilError(b.t, os.WriteFile(b.path(name), []byte(content), 0o700))
}

// tapped returns the command of a server with the tap, which records to a file with this name.
func (b *bench) tapped(record string, command ...string) []string {
	b.t.Helper()
	self, err := os.Executable()
	assert.NilError(b.t, err)
	// With the race detector, this binary would take a second to exit.
	return append([]string{"env", "GORACE=atexit_sleep_ms=0", self, conformance.RoleTap,
		b.path(record)}, command...)
}

// An outcome is the result of a program.
type outcome struct {
	stdout, stderr string
	code           int
	took           time.Duration
}

func (o outcome) String() string {
	return fmt.Sprintf("exit code %d after %v\nstdout: %s\nstderr: %s", o.code, o.took, o.stdout,
		o.stderr)
}

// find resolves a command with the PATH of the bench.
func (b *bench) find(cmd *exec.Cmd) {
	name := cmd.Args[0]
	for _, v := range b.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok && !strings.Contains(name, "/") {
			for _, dir := range filepath.SplitList(path) {
				if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
					cmd.Path, cmd.Err = p, nil
					break
				}
			}
		}
	}
}

// run runs a program to its end, for five minutes at most: a browser on a busy machine needs one.
func (b *bench) run(command ...string) outcome {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	b.find(cmd)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.dir, b.env, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	begin := time.Now()
	err := cmd.Run()
	took := time.Since(begin)
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		b.t.Fatalf("%q: %v\n%s", command, err, stderr.String())
	}
	o := outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), took}
	assert.NilError(b.t, ctx.Err(), "%q did not end: %v", command, o)
	return o
}

// must is run for programs that must succeed.
func (b *bench) must(command ...string) outcome {
	b.t.Helper()
	o := b.run(command...)
	assert.Equal(b.t, o.code, 0, "%q: %v", command, o)
	return o
}

// checkServer checks all messages of the server that the tap has recorded, and that there are some.
func (b *bench) checkServer(record string) {
	b.t.Helper()
	s := conformance.OpenSchemas()
	if s == nil {
		return // TestEveryMethodInEveryRevision reports it
	}
	checked, err := s.CheckServer(b.path(record))
	assert.NilError(b.t, err)
	assert.Assert(b.t, checked["tools/list result"] > 0, "%v", checked)
}

// checkClient is checkServer for the client.
func (b *bench) checkClient(record string) {
	b.t.Helper()
	s := conformance.OpenSchemas()
	if s == nil {
		return
	}
	checked, err := s.CheckClient(b.path(record))
	assert.NilError(b.t, err)
	assert.Assert(b.t, checked["tools/list"] > 0, "%v", checked)
}
