package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/processtest"
)

// However this program dies, children and grandchildren that ignore everything end.
func TestProgramKilled(t *testing.T) {
	program := exec.Command(self(), "spawn stubborn", "stubborn")
	program.Env = []string{fixtureEnv + "=parent"}
	stdout, err := program.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, program.Start())
	child, grandchild := readPid(t, stdout), readPid(t, stdout)
	assert.Assert(t, processtest.Runs(child) && processtest.Runs(grandchild))
	assert.NilError(t, program.Process.Kill()) // kills the program alone, which is in no job
	processtest.AwaitEnd(t, child, grandchild)
	program.Wait()
}

// When Done is closed, all pipes are closed and all processes are gone.
func TestDoneAfterEverythingEnded(t *testing.T) {
	for _, end := range []func(*Process){
		func(p *Process) { p.Stop(expired()) },
		func(p *Process) { p.Stdin().Close() },
		func(p *Process) { p.group.(*ownGroup).Leader.Kill() },
	} {
		p := startChild(t, scripted("spawn stubborn", "spawn stubborn", "cat"))
		one, two := readPid(t, p.Stdout()), readPid(t, p.Stdout())
		end(p)
		awaitDone(t, p)
		for _, pid := range []int{p.Pid(), one, two} {
			assert.Assert(t, !processtest.Runs(pid))
		}
		rest, err := io.ReadAll(p.Stdout())
		assert.NilError(t, err)
		assert.Equal(t, string(rest), "")
		assert.Assert(t, !p.Wait().Held)
	}
}

func TestNoHandleLeft(t *testing.T) {
	count := func() (n uint32) {
		proc := syscall.NewLazyDLL("kernel32.dll").NewProc("GetProcessHandleCount")
		process, err := syscall.GetCurrentProcess()
		assert.NilError(t, err)
		ok, _, err := proc.Call(uintptr(process), uintptr(unsafe.Pointer(&n)))
		assert.Assert(t, ok != 0, "%v", err)
		return n
	}
	const children = 30
	run := func() {
		for range children {
			startChild(t, scripted("exit 0")).Wait()
			_, err := Start(t.Context(), Config{Command: filepath.Join(t.TempDir(), "missing.exe")})
			assert.ErrorIs(t, err, os.ErrNotExist)
		}
	}
	run()
	before := count()
	run()
	assert.Assert(t, count() < before+children, "%d handles, then %d", before, count())
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "text.exe"), []byte("text"), 0o666))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "plain.txt"), []byte("text"), 0o666))
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "batch.cmd"), nil, 0o666))
	env := map[string]string{"Path": `C:\nonexistent;.;` + dir}
	for _, c := range []struct {
		cfg  Config
		is   error
		want string
	}{
		{
			Config{Command: "no-such-command", Dir: dir, Env: env}, exec.ErrNotFound,
			`cannot start "no-such-command": executable file not found in %PATH%`,
		},
		{Config{Command: `.\missing`, Dir: dir}, fs.ErrNotExist, ""},
		{Config{Command: "plain", Dir: dir, Env: env}, exec.ErrNotFound, ""},
		{Config{Command: "text", Dir: dir, Env: env}, nil, ""},
		{
			Config{Command: "batch", Args: []string{"a", "b\nc"}, Dir: dir, Env: env}, nil,
			`cannot start "batch": argument 2 of a batch file: cmd.exe takes no line breaks and ` +
				`no NUL: run the program that the batch file starts (working directory DIR)`,
		},
		{Config{Command: "batch", Dir: filepath.Join(dir, "missing"), Env: env}, fs.ErrNotExist,
			""},
		{
			Config{Command: self(), Dir: filepath.Join(dir, "plain.txt")}, nil,
			fmt.Sprintf(`cannot start %q: the working directory is not a directory `+
				`(working directory DIR\plain.txt)`, self()),
		},
	} {
		_, err := Start(t.Context(), c.cfg)
		startErr, ok := errors.AsType[*StartError](err)
		assert.Assert(t, ok, "%T %v", err, err)
		if c.want != "" {
			assert.Equal(t, strings.ReplaceAll(err.Error(), dir, "DIR"), c.want)
		}
		assert.Assert(t, c.is == nil || errors.Is(err, c.is), "%v", err)
		assert.Equal(t, startErr.Command, c.cfg.Command)
	}
}

// A batch file such as npx passes its arguments on, and ends with the program it has launched.
// Wine's cmd.exe passes on fewer arguments than Windows'; internal/processgroup tests those that
// are refused.
func TestBatchFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "launch.cmd")
	assert.NilError(t, os.WriteFile(file, []byte("@\"%FIXTURE%\" %*\r\n"), 0o666))
	args := []string{
		"args", "-y", "@scope/pkg", "https://example.com/?a=b&c=d%20e", "a b",
		"&echo pwned>pwned.txt&",
		`{"a":1}`, `C:\d\`,
	}
	cfg := Config{Command: "launch", Args: args, Dir: dir, Env: map[string]string{
		"PATH": dir, fixtureEnv: "script", "FIXTURE": self(),
	}}
	p := startChild(t, cfg)
	out, err := io.ReadAll(p.Stdout())
	assert.NilError(t, err)
	var got []string
	assert.NilError(t, json.Unmarshal(out, &got), "%s", out)
	assert.DeepEqual(t, got, args)
	assert.Equal(t, p.Wait().Error(), "exited with status 0")
	made, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Equal(t, len(made), 1)

	cfg.Args = []string{`"&echo pwned>pwned.txt&ver`}
	_, err = Start(t.Context(), cfg)
	assert.ErrorContains(t, err, "argument 1 of a batch file")

	cfg.Args = []string{"spawn stubborn", "stubborn"}
	p = startChild(t, cfg)
	grandchild := readPid(t, p.Stdout())
	_, err = p.Stop(expired())
	assert.NilError(t, err)
	assert.Assert(t, !processtest.Runs(grandchild))
}
