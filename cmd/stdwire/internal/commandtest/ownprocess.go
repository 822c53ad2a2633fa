package commandtest

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var ownProcess = flag.Bool("own-process", false, "the test has this process for itself")

// InOwnProcess runs a test in a process of its own, in parallel with others, and reports that it
// has done so: then the test returns. In its process, where InOwnProcess returns false, the test
// may set variables and the working directory. The test must not read files of the repository: go
// test does not learn of them, and would take a result from the cache after they have changed.
func InOwnProcess(t *testing.T) bool {
	t.Helper()
	if *ownProcess {
		return false
	}
	t.Parallel()
	self, err := os.Executable()
	must(t, err)
	// The last of several equal flags counts. An argument that is no flag would end them, and the
	// test start itself again.
	flags := os.Args[1 : len(os.Args)-flag.NArg()]
	name := "^" + strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), self, append(slices.Clone(flags), "-own-process",
		"-test.run="+name, "-test.v=false", "-test.testlogfile=", "-test.coverprofile=")...)
	if deadline, ok := t.Deadline(); ok {
		cmd.Args = append(cmd.Args, "-test.timeout="+time.Until(deadline).String())
	}
	cmd.WaitDelay = 30 * time.Second // for what the test has left running
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return true
}

// WaitTogether lets more tests run in parallel than there are processors, unless a flag says how
// many: they wait for other processes most of the time.
func WaitTogether() {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
}
