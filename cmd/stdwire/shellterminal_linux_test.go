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
	"unicode/utf8"
	"unsafe"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/shell"
	"gotest.tools/v3/assert"
)

// A seat is a terminal with stdwire on it, and somebody who types and looks.
type seat struct {
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

// newSeat starts stdwire on a terminal of 80 columns.
func newSeat(t *testing.T, args ...string) *seat { return newSeatAt(t, "xterm", args...) }

// newSeatAt is newSeat with a terminal of a kind.
func newSeatAt(t *testing.T, kind string, args ...string) *seat {
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
	s := &seat{t: t, master: master, cmd: exec.Command(path, args...), state: t.TempDir(),
		more: make(chan struct{}, 1), ended: make(chan struct{})}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.cmd.Env = append(os.Environ(), "TERM="+kind, "XDG_STATE_HOME="+s.state)
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

func (s *seat) types(text string) {
	s.t.Helper()
	_, err := io.WriteString(s.master, text)
	assert.NilError(s.t, err)
}

// sees waits for a text, and returns what came before it.
func (s *seat) sees(want string) (before string) {
	s.t.Helper()
	patience := time.After(30 * time.Second)
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

// Line types a line, and waits for what it prints and the next prompt.
func (s *seat) Line(text string) (printed string) {
	s.t.Helper()
	s.types(text + "\r")
	s.sees(clean + ready + text)
	const taken, next = "\x1b[?2004l", "\x1b[?2004h"
	s.sees(taken)
	printed = s.sees(next)
	s.sees(ready)
	return strings.ReplaceAll(printed, "\r\n", "\n")
}

// ends waits for the end of the program. What it has said last may be lost with it: it owns the
// terminal, which is hung up then.
func (s *seat) ends() (code int) {
	s.t.Helper()
	guard := time.AfterFunc(30*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer guard.Stop()
	return exitCode(s.cmd.Wait())
}

// clean is how the editor begins to show a line anew, or what goes above it.
const clean = "\r\x1b[J"

// pasteMarks is what the editor says when it begins to read a line.
const pasteMarks = "\x1b[?2004h"

var ready = self + "> "

func TestShellAtATerminal(t *testing.T) {
	s := newSeat(t, words("shell", fixture("rich")...)...)
	s.sees("rich 1.0, MCP 2025-11-25. Tab completes, .help explains, Ctrl-D ends.\r\n")
	s.sees(ready)

	// A tool, its arguments and their values.
	s.types("pa\t")
	s.sees(ready + "paint ")
	s.types("c\t")
	s.sees(ready + "paint color=")
	s.types("\t")
	s.sees("color=red           color=green         color=\"light blue\"\r\n" + ready +
		"paint color=")
	s.types("l\tb\tt\t")
	s.sees(ready + "paint color=\"light blue\" bold=true ")
	s.types("at.\ty\x7fx=1\r")
	s.sees(`{"color":"light blue","bold":true,"at":{"x":1}}` + "\r\n")
	s.sees(ready)

	// Prompts, whose values only the server knows, and URIs.
	s.types(".prompt g\tn\t\t")
	s.sees(ready + ".prompt greet name=Ada ")
	s.types("city=N\t")
	s.sees("city=\"New York\"  city=Newark\r\n")
	s.types("ewa\t\r")
	s.sees("user:\r\n" + `{"city":"Newark","name":"Ada"}` + "\r\n")
	s.sees(ready)
	s.types(".rea\tf\t")
	s.sees("\"file:///a b\"  file:///c\r\n")
	s.types("\x15.read lo\t\t")
	s.sees(ready + ".read log://monday ")
	s.types("\x03")
	s.sees("^C\r\n")
	s.sees(ready)

	// What was typed before.
	s.types("\x12paint\r")
	s.sees(ready + "paint color=\"light blue\" bold=true at.x=1")
	s.sees(`{"color":"light blue","bold":true,"at":{"x":1}}` + "\r\n")
	s.sees(ready)
	assert.Equal(t, s.Line(" paint bold=false"), `{"bold":false}`+"\n")

	// What fails ends nothing.
	assert.Equal(t, s.Line(".tols"),
		"stdwire: .tols: there is no such command\nhint: did you mean .tools?\n")
	assert.Equal(t, s.Line("pain"), "stdwire: "+self+
		": pain: there is no such tool; there are paint, hang, die, grow, later\nhint: did you mean paint?\n")

	// Tools that change.
	s.types("grow\r")
	s.sees("done\r\n")
	s.sees("note: the tools have changed: there are 6\r\n" + ready)
	assert.Equal(t, s.Line("grown"), "{}\n")

	// Every message, cut to the terminal.
	assert.Equal(t, s.Line(".trace on"), "")
	printed := s.Line("paint bold=true")
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	assert.Equal(t, len(lines), 3, printed)
	for i, arrow := range []string{"→", "←"} {
		assert.Assert(t,
			regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} `+arrow+
				` \{"jsonrpc":"2.0",`).MatchString(lines[i]), lines[i])
		assert.Assert(t, utf8.RuneCountInString(lines[i]) <= 79, lines[i])
	}
	assert.Equal(t, lines[2], `{"bold":true}`)
	assert.Equal(t, s.Line(".trace off"), "")

	s.types(".quit\r")
	assert.Equal(t, s.ends(), 0)
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
	s := newSeat(t, words("shell", fixture("rich", notes.path)...)...)
	s.sees(ready)
	for range 2 {
		s.types("hang\r")
		assert.Equal(t, notes.Line(t), "working\n")
		s.types("\x03")
		s.sees("stdwire: " + self + ": hang: cancelled\r\n")
		assert.Equal(t, notes.Line(t), "cancelled\n")
		s.sees(ready)
	}
	assert.Equal(t, s.Line("paint bold=true"), `{"bold":true}`+"\n", "the server lives")
	s.types("\x04")
	assert.Equal(t, s.ends(), 0)
	assert.Equal(t, notes.all(t), "", "the server has ended")
}

func TestShellStartIsCancelled(t *testing.T) {
	s := newSeat(t, words("shell --server-logs", fixture("silent")...)...)
	s.sees("please log in\r\n")
	s.types("\x03")
	assert.Equal(t, s.ends(), 130)
}

func TestShellServerDies(t *testing.T) {
	s := newSeat(t, words("shell", fixture("rich")...)...)
	s.sees(ready)
	assert.Equal(t, s.Line("die"), "stdwire: "+self+`: die: exited with status 7: "out of memory"`+
		"\n")
	assert.Equal(t, s.Line("paint bold=true"), `{"bold":true}`+"\n", "it is there again")

	// While nobody asks it anything.
	pid := regexp.MustCompile(`process +(\d+)`).FindStringSubmatch(s.Line(".info"))
	assert.Equal(t, len(pid), 2)
	var number int
	_, err := fmt.Sscan(pid[1], &number)
	assert.NilError(t, err)
	s.types("paint bo")
	s.sees("paint bo")
	assert.NilError(t, syscall.Kill(number, syscall.SIGKILL))
	s.sees("note: " + self + " ended by signal: killed; the next call starts it again\r\n" + ready +
		"paint bo")
	s.types("ld=true\r")
	s.sees(`{"bold":true}` + "\r\n")
	s.sees(ready)
	assert.Equal(t, s.Line(".restart"), "")
	s.types(".quit\r")
	assert.Equal(t, s.ends(), 0)
}

// What the server says meanwhile goes above the line.
func TestShellShowsLogsAboveTheLine(t *testing.T) {
	notes := newNotes(t)
	cues := filepath.Join(t.TempDir(), "cues")
	assert.NilError(t, syscall.Mkfifo(cues, 0o600))
	cue, err := os.OpenFile(cues, os.O_RDWR, 0)
	assert.NilError(t, err)
	defer cue.Close()
	s := newSeat(t, words("shell --server-logs", fixture("rich", notes.path, cues)...)...)
	s.sees(ready)
	assert.Equal(t, s.Line("later"), "soon\n")
	s.types("half a li")
	s.sees(ready + "half a li")
	_, err = cue.WriteString("now\n")
	assert.NilError(t, err)
	for range 2 { // they come in different ways
		before := s.sees(ready + "half a li")
		assert.Assert(t, strings.Contains(before, clean+"a line on stderr\r\n") ||
			strings.Contains(before, clean+"[warning] rich a log message\r\n"), "%q", before)
	}
	s.types("\x15\x04")
	assert.Equal(t, s.ends(), 0)
}

func TestShellShowsProgress(t *testing.T) {
	s := newSeat(t, words("shell", fixture("good")...)...)
	s.sees(ready)
	s.types("slow ms=1\r")
	s.sees("slow: 100% step")
	s.sees("\r\x1b[Kdone\r\n")
	s.sees(ready)
	s.types("\x04")
	assert.Equal(t, s.ends(), 0)
}

// A server that does not say what a value may become is not waited for.
func TestShellCompletionIsBounded(t *testing.T) {
	s := newSeat(t, words("shell", fixture("rich")...)...)
	s.sees(ready)
	s.types(".prompt greet city=never")
	s.sees("city=never")
	began := time.Now()
	s.types("\tmore")
	s.sees("city=nevermore")
	assert.Assert(t, time.Since(began) >= shell.CompletionPatience)
	s.types("\x15\x04")
	assert.Equal(t, s.ends(), 0)
}

func TestShellIsTerminated(t *testing.T) {
	s := newSeat(t, words("shell", fixture("rich")...)...)
	s.sees(ready)
	assert.NilError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.sees("\x1b[?2004l") // the terminal is as it was
	assert.Equal(t, s.ends(), 143)
}
