//go:build unix

package fs

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs/internal/replace"
	"github.com/stdwire/stdwire/dispatch"
	"gotest.tools/v3/assert"
)

// If a disk fills up during a write, the old file is unchanged and no temporary file is left. A
// limit on file sizes simulates the full disk. The limit applies to a whole process.
func TestFull(t *testing.T) {
	if !inOtherProcess(t, nil) {
		return
	}
	const limit = 64 << 10
	signal.Ignore(syscall.SIGXFSZ)
	s := newService(t, map[string]string{"f": "old", "g": strings.Repeat("x", limit/2)})
	assert.NilError(t,
		syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}))
	s.nothingFits(t, strings.Repeat("n", 2*limit), "larger than allowed")
}

// inOtherProcess runs a test again in a process with these attributes, and adopts its result. In
// that process it returns true. If the process cannot be started, it skips the test.
func inOtherProcess(t *testing.T, attr *syscall.SysProcAttr) bool {
	t.Helper()
	const mark = "STDWIRE_TEST_IN_OTHER_PROCESS"
	if os.Getenv(mark) != "" {
		return true
	}
	t.Parallel()
	var out bytes.Buffer
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), mark+"=1")
	child.SysProcAttr, child.Stdout, child.Stderr = attr, &out, &out
	if err := child.Start(); err != nil {
		t.Skipf("cannot start a process: %v", err)
	}
	assert.NilError(t, child.Wait(), out.String())
	if strings.Contains(out.String(), "--- SKIP: "+t.Name()) {
		t.Skip(out.String())
	}
	assert.Assert(t, strings.Contains(out.String(), "--- PASS: "+t.Name()), out.String())
	return false
}

// nothingFits checks that writes to a full disk fail and leave no file.
func (s *service) nothingFits(t *testing.T, content, text string) {
	t.Helper()
	before, f, g := s.names(t), s.content(t, "f"), s.content(t, "g")
	for range 3 {
		fails(t, s, "fs.write", map[string]any{"path": "f", "content": content},
			dispatch.StateError, text)
		fails(t, s, "fs.write",
			map[string]any{"path": "f", "content": content, "if_sha256": replace.HexSum([]byte(f))},
			dispatch.StateError, text)
		fails(t, s, "fs.write",
			map[string]any{"path": "new", "content": content, "if_sha256": "absent"},
			dispatch.StateError, text)
		fails(t, s, "fs.edit",
			map[string]any{"path": "g", "old": "x", "new": "xxxxxxxx", "all": true},
			dispatch.StateError, text)
	}
	assert.DeepEqual(t, s.names(t), before)
	assert.Equal(t, s.content(t, "f"), f)
	assert.Equal(t, s.content(t, "g"), g)
	run[WriteOutput](t, s, "fs.write", `{"path":"f","content":"small"}`)
}
