package cli_test

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// Somebody at a terminal is asked and shown prompts, and what they type is taken.
func TestAskedAtTerminal(t *testing.T) {
	for _, c := range []struct {
		name, args string
		typed      [][2]string // what is typed once this was printed
		want       string      // all that is to be seen
		code       int
	}{
		{"yes", "note archive old -o json", [][2]string{{"[y/N] ", "yes\n"}},
			"notes: note archive old: Put old notes away. This cannot be undone. Go on? [y/N] yes\n" +
				`{"success":true,"data":{},"error":null}` + "\n", 0},
		{"no", "note archive old", [][2]string{{"[y/N] ", "\n"}},
			"notes: note archive old: Put old notes away. This cannot be undone. Go on? [y/N] \n" +
				"notes: note archive old: confirmation_required: Put old notes away. This cannot be undone. It was declined.\n",
			7},
		{"end of input", "note archive old", [][2]string{{"[y/N] ", "\x04"}},
			"notes: note archive old: Put old notes away. This cannot be undone. Go on? [y/N] \n" +
				"notes: note archive old: confirmation_required: Put old notes away. This cannot be undone. It was declined.\n",
			7},
		{"script", "-", [][2]string{{"> ", "note\n"}, {"3\r\nnotes> ", "open --a 'x\n"},
			{"'x\r\n", "y'\n"}, {"  y\r\nnotes> ", "\x04"}},
			"notes> note\n3\nnotes> open --a 'x\ny'\na:\n  x\n  y\nnotes> \n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			self, err := os.Executable()
			assert.NilError(t, err)
			cmd := exec.Command(self, strings.Fields(c.args)...)
			cmd.Env = append(os.Environ(), asProgram+"=notes", "NO_COLOR=1")
			master := startOnTerminal(t, cmd)
			defer master.Close()
			guard := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			defer guard.Stop()
			var seen strings.Builder
			room := make([]byte, 1024)
			for {
				n, err := master.Read(room)
				seen.Write(room[:n])
				if len(c.typed) > 0 && strings.HasSuffix(seen.String(), c.typed[0][0]) {
					_, err := io.WriteString(master, c.typed[0][1])
					assert.NilError(t, err)
					c.typed = c.typed[1:]
				}
				if err != nil { // the program is gone, and the terminal with it
					break
				}
			}
			_ = cmd.Wait()
			assert.Equal(t, strings.ReplaceAll(seen.String(), "\r\n", "\n"), c.want)
			assert.Equal(t, cmd.ProcessState.ExitCode(), c.code)
			assert.Equal(t, len(c.typed), 0)
		})
	}
}
