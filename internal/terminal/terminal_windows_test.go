package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"gotest.tools/v3/assert"
)

// TestMain runs the tests, or a program on a pseudoconsole that writes down failures.
func TestMain(m *testing.M) {
	report := os.Getenv("REPORT")
	if report == "" {
		os.Exit(m.Run())
	}
	if err := onConsole(); err != nil {
		_ = os.WriteFile(report, []byte(err.Error()), 0o600)
		os.Exit(1)
	}
}

func TestConsole(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	t.Setenv("REPORT", report)
	t.Setenv("TERM", "")
	typed, screen, wait := startOnConsole(t, 77, 24)
	_, err := typed.WriteString("x")
	assert.NilError(t, err)
	go func() {
		for r := bufio.NewReader(screen); ; {
			if _, err := r.ReadString('?'); err != nil { // the program asks
				return
			}
			_, _ = typed.WriteString("in time\r")
		}
	}()
	code := wait()
	text, _ := os.ReadFile(report)
	assert.Equal(t, code, uint32(0), "%s", text)
}

// onConsole is the part of TestConsole that runs on the console.
func onConsole() error {
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if !Is(in) || !Is(out) {
		return fmt.Errorf("terminals: %v and %v", Is(in), Is(out))
	}
	columns, rows, err := Size(out)
	if err != nil || columns != 77 || rows != 24 {
		return fmt.Errorf("size: %d, %d, %w", columns, rows, err)
	}
	if err := SetMode(out, 1); err != nil {
		return err
	}
	if err := os.Setenv("TERM", "dumb"); err != nil || EnableEscapes(out) {
		return fmt.Errorf("escapes on a dumb terminal: %w", err)
	}
	if err := os.Unsetenv("TERM"); err != nil || !EnableEscapes(out) {
		return fmt.Errorf("no escapes: %w", err)
	}
	if mode, err := Mode(out); err != nil || mode != 5 {
		return fmt.Errorf("mode of output: %#x, %w", mode, err)
	}
	return forgets(in, out)
}

// forgets waits for a key, discards it, and asks for a line.
func forgets(in, out *os.File) error {
	event, err := syscall.WaitForSingleObject(syscall.Handle(in.Fd()), syscall.INFINITE)
	if err != nil || event != syscall.WAIT_OBJECT_0 {
		return fmt.Errorf("no key: %d, %w", event, err)
	}
	Discard(in)
	if _, err := out.WriteString("?"); err != nil {
		return err
	}
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "in time" {
		return fmt.Errorf("the line is %q, %w", line, err)
	}
	return nil
}

// startOnConsole starts the test binary on a console of a size. Text written to typed is typed on
// it, and its output is read from screen, until wait has returned the exit code.
func startOnConsole(t *testing.T, columns, rows uint16) (
	typed, screen *os.File, wait func() (exitCode uint32),
) {
	t.Helper()
	here, typed, err := os.Pipe()
	assert.NilError(t, err)
	screen, there, err := os.Pipe()
	assert.NilError(t, err)
	t.Cleanup(func() { _ = errors.Join(typed.Close(), screen.Close()) })

	size := uintptr(columns) | uintptr(rows)<<16
	var console uintptr
	create := kernel32.NewProc("CreatePseudoConsole")
	failed, _, _ := create.Call(size, here.Fd(), there.Fd(), 0, uintptr(unsafe.Pointer(&console)))
	assert.Equal(t, failed, uintptr(0))
	assert.NilError(t, errors.Join(here.Close(), there.Close()))

	const pseudoConsole, extendedStartupInfo = 0x20016, 0x80000
	var room uintptr
	initialize := kernel32.NewProc("InitializeProcThreadAttributeList")
	// fails, and returns the size needed
	_ = call(initialize, 0, 1, 0, uintptr(unsafe.Pointer(&room)))
	attributes := make([]byte, room)
	list := uintptr(unsafe.Pointer(&attributes[0]))
	assert.NilError(t, call(initialize, list, 1, 0, uintptr(unsafe.Pointer(&room))))
	update := kernel32.NewProc("UpdateProcThreadAttribute")
	err = call(update, list, 0, pseudoConsole, console, unsafe.Sizeof(console), 0, 0)
	assert.NilError(t, err)

	start := struct {
		syscall.StartupInfo
		attributes *byte
	}{attributes: &attributes[0]}
	start.Cb = uint32(unsafe.Sizeof(start))
	start.Flags = syscall.STARTF_USESTDHANDLES // none, instead of the test's
	program, err := syscall.UTF16PtrFromString(os.Args[0])
	assert.NilError(t, err)
	var process syscall.ProcessInformation
	err = syscall.CreateProcess(program, nil, nil, nil, false, extendedStartupInfo, nil, nil,
		&start.StartupInfo, &process)
	assert.NilError(t, err)
	return typed, screen, func() (code uint32) {
		t.Helper()
		_, err := syscall.WaitForSingleObject(process.Process, syscall.INFINITE)
		assert.NilError(t, err)
		assert.NilError(t, syscall.GetExitCodeProcess(process.Process, &code))
		_, _, _ = kernel32.NewProc("ClosePseudoConsole").Call(console)
		err = errors.Join(syscall.CloseHandle(process.Process), syscall.CloseHandle(process.Thread))
		assert.NilError(t, err)
		return code
	}
}
