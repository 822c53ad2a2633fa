package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/shell"
	"gotest.tools/v3/assert"
)

// A session is stdwire on a terminal that the test types at and reads.
type session struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	state  string // $XDG_STATE_HOME

	mu    sync.Mutex
	text  string        // what has come and was not seen yet
	more  chan struct{} // capacity 1: there is more
	ended chan struct{} // the terminal is gone
}

func ioctl(t *testing.T, f *os.File, request uintptr, argument unsafe.Pointer) {
	t.Helper()
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(argument))
	assert.Equal(t, errno, syscall.Errno(0))
}

// newSession starts stdwire on a terminal of 80 columns.
func newSession(t *testing.T, args ...string) *session { return newSessionOn(t, "xterm", args...) }

// newSessionOn is newSession with a kind of terminal.
func newSessionOn(t *testing.T, kind string, args ...string) *session {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	var number, unlock uint32
	ioctl(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	ioctl(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	size := struct{ rows, columns, x, y uint16 }{24, 80, 0, 0}
	ioctl(t, master, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	assert.NilError(t, err)
	defer slave.Close()
	path, err := os.Executable()
	assert.NilError(t, err)
	s := &session{t: t, master: master, cmd: exec.Command(path, args...), state: t.TempDir(),
		more: make(chan struct{}, 1), ended: make(chan struct{})}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.cmd.Env = append(os.Environ(), "TERM="+kind, "NO_COLOR=1", "XDG_STATE_HOME="+s.state)
	assert.NilError(t, s.cmd.Start())
	go func() {
		defer close(s.ended)
		room := make([]byte, 4096)
		for {
			n, err := master.Read(room)
			s.mu.Lock()
			s.text += string(room[:n])
			s.mu.Unlock()
			select {
			case s.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		<-s.ended
		_ = master.Close()
	})
	return s
}

func (s *session) typeText(text string) {
	s.t.Helper()
	_, err := io.WriteString(s.master, text)
	assert.NilError(s.t, err)
}

// expect waits for a text and returns the output before it.
func (s *session) expect(want string) (before string) {
	s.t.Helper()
	patience := time.After(time.Minute)
	for {
		s.mu.Lock()
		var rest string
		var ok bool
		if before, rest, ok = strings.Cut(s.text, want); ok {
			s.text = rest
		}
		s.mu.Unlock()
		if ok {
			return before
		}
		select {
		case <-s.more:
		case <-patience:
			s.t.Fatalf("waited for %q in %q", want, before)
		}
	}
}

const taken = "\x1b[?2004l" // the editor has read a line

// Line types a line, waits for the next prompt, and returns the output between.
func (s *session) Line(text string) (printed string) {
	s.t.Helper()
	s.typeText(text + "\r")
	s.expect(clean + ready + text)
	const next = "\x1b[?2004h"
	s.expect(taken)
	printed = s.expect(next)
	s.expect(ready)
	return strings.ReplaceAll(printed, "\r\n", "\n")
}

// wait waits for the end of the program. Its last output may be lost, because its end hangs up the
// terminal.
func (s *session) wait() (code int) {
	s.t.Helper()
	guard := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
	defer guard.Stop()
	return exitCode(s.cmd.Wait())
}

// clean is what the editor writes before it draws a line, or text above it.
const clean = "\r\x1b[J"

// pasteMarks is what the editor writes when it begins to read a line.
const pasteMarks = "\x1b[?2004h"

var ready = self + "> "

func TestShellAtATerminal(t *testing.T) {
	t.Parallel()
	s := newSession(t, words("shell", fixture("rich")...)...)
	s.expect("rich 1.0, MCP 2025-11-25. Tab completes, .help explains, Ctrl-D ends.\r\n")
	s.expect(ready)

	// A tool, its arguments and their values.
	s.typeText("pa\t")
	s.expect(ready + "paint ")
	s.typeText("c\t")
	s.expect(ready + "paint color=")
	s.typeText("\t")
	s.expect("color=red           color=green         color=\"light blue\"\r\n" + ready +
		"paint color=")
	s.typeText("l\tb\tt\t")
	s.expect(ready + "paint color=\"light blue\" bold=true ")
	s.typeText("at.\ty\x7fx=1\r")
	s.expect(`{"color":"light blue","bold":true,"at":{"x":1}}` + "\r\n")
	s.expect(ready)

	// Prompts, with values from the server, and URIs.
	s.typeText(".prompt g\tn\t\t")
	s.expect(ready + ".prompt greet name=Ada ")
	s.typeText("city=N\t")
	s.expect("city=\"New York\"  city=Newark\r\n")
	s.typeText("ewa\t\r")
	s.expect("user:\r\n" + `{"city":"Newark","name":"Ada"}` + "\r\n")
	s.expect(ready)
	s.typeText(".rea\tf\t")
	s.expect("\"file:///a b\"  file:///c\r\n")
	s.typeText("\x15.read lo\t\t")
	s.expect(ready + ".read log://monday ")
	s.typeText("\x03")
	s.expect("^C\r\n")
	s.expect(ready)

	// The history.
	s.typeText("\x12paint\r")
	s.expect(ready + "paint color=\"light blue\" bold=true at.x=1")
	s.expect(`{"color":"light blue","bold":true,"at":{"x":1}}` + "\r\n")
	s.expect(ready)
	assert.Equal(t, s.Line(" paint bold=false"), `{"bold":false}`+"\n")

	// A failure does not end the shell.
	assert.Equal(t, s.Line(".tols"),
		"stdwire: .tols: there is no such command\nhint: did you mean .tools?\n")
	assert.Equal(t, joinLines(s.Line("pain")), "stdwire: "+self+
		": pain: there is no such tool; there are paint, hang, die, grow, later\nhint: did you mean paint?\n")

	// Tools that change.
	s.typeText("grow\r")
	s.expect("done\r\n")
	s.expect("note: the tools have changed: there are 6\r\n" + ready)
	assert.Equal(t, s.Line("grown"), "{}\n")

	// The trace, which the terminal wraps.
	assert.Equal(t, s.Line(".trace on"), "")
	printed := s.Line("paint bold=true")
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	assert.Equal(t, len(lines), 3, printed)
	for i, arrow := range []string{"→", "←"} {
		assert.Assert(t,
			regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} `+arrow+
				` \{"jsonrpc":"2.0",`).MatchString(lines[i]), lines[i])
		assert.Assert(t, strings.HasSuffix(lines[i], "}"), lines[i])
	}
	assert.Equal(t, lines[2], `{"bold":true}`)
	assert.Equal(t, s.Line(".trace off"), "")

	s.typeText(".quit\r")
	assert.Equal(t, s.wait(), 0)
	kept, err := os.ReadFile(filepath.Join(s.state, "stdwire", "history"))
	assert.NilError(t, err)
	assert.Assert(t,
		strings.HasPrefix(string(kept),
			"paint color=\"light blue\" bold=true at.x=1\n.prompt greet name=Ada city=Newark \npaint "),
		"%s", kept)
	assert.Assert(t, !strings.Contains(string(kept), "bold=false"), "begins with a blank")
}

func TestShellCallIsCancelled(t *testing.T) {
	notes := newNotes(t)
	s := newSession(t, words("shell", fixture("rich", notes.path)...)...)
	s.expect(ready)
	for range 2 {
		s.typeText("hang\r")
		assert.Equal(t, notes.Line(t), "working\n")
		s.typeText("\x03")
		s.expect("stdwire: " + self + ": hang: cancelled\r\n")
		assert.Equal(t, notes.Line(t), "cancelled\n")
		s.expect(ready)
	}
	assert.Equal(t, s.Line("paint bold=true"), `{"bold":true}`+"\n", "the server lives")
	s.typeText("\x04")
	assert.Equal(t, s.wait(), 0)
	assert.Equal(t, notes.all(t), "", "the server has ended")
}

func TestShellStartIsCancelled(t *testing.T) {
	s := newSession(t, words("shell --server-logs", fixture("silent")...)...)
	s.expect("please log in\r\n")
	s.typeText("\x03")
	assert.Equal(t, s.wait(), 130)
}

func TestShellServerDies(t *testing.T) {
	t.Parallel()
	s := newSession(t, words("shell", fixture("rich")...)...)
	s.expect(ready)
	assert.Equal(t, s.Line("die"), "stdwire: "+self+`: die: exited with status 7: "out of memory"`+
		"\n")
	assert.Equal(t, s.Line("paint bold=true"), `{"bold":true}`+"\n", "it is there again")

	// Without a call.
	pid := regexp.MustCompile(`process +(\d+)`).FindStringSubmatch(s.Line(".info"))
	assert.Equal(t, len(pid), 2)
	var number int
	_, err := fmt.Sscan(pid[1], &number)
	assert.NilError(t, err)
	s.typeText("paint bo")
	s.expect("paint bo")
	assert.NilError(t, syscall.Kill(number, syscall.SIGKILL))
	s.expect("note: " + self + " ended by signal: killed; the next call starts it again\r\n" + ready +
		"paint bo")
	s.typeText("ld=true\r")
	s.expect(`{"bold":true}` + "\r\n")
	s.expect(ready)
	assert.Equal(t, s.Line(".restart"), "")
	s.typeText(".quit\r")
	assert.Equal(t, s.wait(), 0)
}

// Log messages appear above the line.
func TestShellShowsLogsAboveTheLine(t *testing.T) {
	notes := newNotes(t)
	cues := filepath.Join(t.TempDir(), "cues")
	assert.NilError(t, syscall.Mkfifo(cues, 0o600))
	cue, err := os.OpenFile(cues, os.O_RDWR, 0)
	assert.NilError(t, err)
	defer cue.Close()
	s := newSession(t, words("shell --server-logs", fixture("rich", notes.path, cues)...)...)
	s.expect(ready)
	assert.Equal(t, s.Line("later"), "soon\n")
	s.typeText("half a li")
	s.expect(ready + "half a li")
	_, err = cue.WriteString("now\n")
	assert.NilError(t, err)
	for range 2 { // stderr and the log message, in any order
		before := s.expect(ready + "half a li")
		assert.Assert(t, strings.Contains(before, clean+"a line on stderr\r\n") ||
			strings.Contains(before, clean+"[warning] rich a log message\r\n"), "%q", before)
	}
	s.typeText("\x15\x04")
	assert.Equal(t, s.wait(), 0)
}

func TestShellShowsProgress(t *testing.T) {
	s := newSession(t, words("shell", fixture("good")...)...)
	s.expect(ready)
	s.typeText("slow ms=1\r")
	s.expect("slow: [####################] 100% ")
	s.expect("\r\x1b[Kdone\r\n")
	s.expect(ready)
	s.typeText("\x04")
	assert.Equal(t, s.wait(), 0)
}

// A completion of the server is not waited for longer than its time limit.
func TestShellCompletionIsBounded(t *testing.T) {
	t.Parallel()
	s := newSession(t, words("shell", fixture("rich")...)...)
	s.expect(ready)
	s.typeText(".prompt greet city=never")
	s.expect("city=never")
	began := time.Now()
	s.typeText("\tmore")
	s.expect("city=nevermore")
	assert.Assert(t, time.Since(began) >= shell.CompletionTimeout)
	s.typeText("\x15\x04")
	assert.Equal(t, s.wait(), 0)
}

func TestShellCompletesSkills(t *testing.T) {
	dir := skillDir(t)
	assert.NilError(t, os.RemoveAll(filepath.Join(dir, "a"))) // the other skill of that name
	s := newSession(t, append([]string{"shell"}, skillServer(t, dir)...)...)
	s.expect(ready)
	s.typeText(".skill p\t")
	s.expect(ready + ".skill pdf ")
	s.typeText("\r")
	s.expect("# PDF")
	s.expect(ready)
	s.typeText("\x04")
	assert.Equal(t, s.wait(), 0)
}

func TestShellIsTerminated(t *testing.T) {
	t.Parallel()
	s := newSession(t, words("shell", fixture("rich")...)...)
	s.expect(ready)
	assert.NilError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.expect("\x1b[?2004l") // the terminal is restored
	assert.Equal(t, s.wait(), 143)
}
