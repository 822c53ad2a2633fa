package processgroup

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

var allocConsole = kernel32.NewProc("AllocConsole")

var systemFixtures = map[string]func(){
	// polite exits with status 5 on a request to end.
	"polite": func() {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, os.Interrupt)
		fmt.Println("ready")
		select {
		case <-asked:
			os.Exit(5)
		case <-time.After(2 * time.Minute):
		}
	},
	// plain does not handle requests to end; Windows does.
	"plain": func() {
		fmt.Println("ready")
		<-time.After(2 * time.Minute)
	},
	// console sends both a request to end, from a console that it shares with them.
	"console": func() {
		if ok, _, err := allocConsole.Call(); ok == 0 {
			panic(err)
		}
		self, err := os.Executable()
		check(err)
		for _, name := range []string{"polite", "plain"} {
			r, w, err := os.Pipe()
			check(err)
			cmd := &exec.Cmd{
				Path: self, Args: []string{self}, Stdout: w,
				Env: append(os.Environ(), fixtureEnv+"="+name),
			}
			g, err := Start(cmd)
			check(err)
			_, err = r.Read(make([]byte, 1))
			check(err)
			check(g.Terminate())
			state, err := g.Leader.Wait()
			check(err)
			_, sig := ExitStatus(state)
			fmt.Printf("%s: status %#x, signal %d\n", name, uint32(state.ExitCode()), sig)
			g.Close()
		}
	},
}

// Terminate reaches processes that share the console, but not the one that calls it.
func TestTerminate(t *testing.T) {
	if syscall.NewLazyDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		t.Skip("Wine does not pass CTRL_BREAK_EVENT on to a process group")
	}
	self, err := os.Executable()
	assert.NilError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fixtureEnv+"=console")
	const detached = 0x8 // DETACHED_PROCESS: without the console of the tests
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: detached}
	out, err := cmd.CombinedOutput()
	assert.NilError(t, err, "%s", out)
	assert.Equal(t, string(out),
		"polite: status 0x5, signal 0\nplain: status 0xc000013a, signal 2\n")
}
