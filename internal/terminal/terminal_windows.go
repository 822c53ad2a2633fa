package terminal

import (
	"os"
	"syscall"
	"unsafe"
)

var (
	kernel32         = syscall.NewLazyDLL("kernel32.dll")
	setConsoleMode   = kernel32.NewProc("SetConsoleMode")
	flushInput       = kernel32.NewProc("FlushConsoleInputBuffer")
	screenBufferInfo = kernel32.NewProc("GetConsoleScreenBufferInfo")
)

// Is reports whether a file is a console. Other character devices are not, NUL among them; nor are
// the pipes that a terminal of Cygwin or MSYS2 has in place of a console.
func Is(f *os.File) bool {
	_, err := Mode(f)
	return err == nil
}

// Mode returns the mode of a console: of its input or of its output, whichever the file is.
func Mode(f *os.File) (mode uint32, err error) {
	err = control(f, func(h syscall.Handle) error { return syscall.GetConsoleMode(h, &mode) })
	return mode, err
}

// SetMode sets the mode of a console: of its input or of its output, whichever the file is.
func SetMode(f *os.File, mode uint32) error {
	return control(f, func(h syscall.Handle) error {
		return call(setConsoleMode, uintptr(h), uintptr(mode))
	})
}

func enableEscapes(f *os.File) bool {
	const processedOutput, virtualTerminalProcessing = 0x1, 0x4
	mode, err := Mode(f)
	return err == nil && SetMode(f, mode|processedOutput|virtualTerminalProcessing) == nil
}

// Size is how many columns and rows the window of a console has.
func Size(f *os.File) (columns, rows int, err error) {
	var info struct {
		width, height, x, y      int16
		attributes               uint16
		left, top, right, bottom int16
		maxWidth, maxHeight      int16
	}
	err = control(f, func(h syscall.Handle) error {
		return call(screenBufferInfo, uintptr(h), uintptr(unsafe.Pointer(&info)))
	})
	if err != nil {
		return 0, 0, err
	}
	return int(info.right-info.left) + 1, int(info.bottom-info.top) + 1, nil
}

// Discard throws away what was typed at a terminal and nobody has read yet, so that it cannot be
// the answer to a question that was not there when it was typed. It does nothing to files that are
// no terminals.
func Discard(f *os.File) {
	_ = control(f, func(h syscall.Handle) error { return call(flushInput, uintptr(h)) })
}

// control calls do with the handle of a file, which stays open meanwhile.
func control(f *os.File, do func(syscall.Handle) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	failed := conn.Control(func(h uintptr) { err = do(syscall.Handle(h)) })
	if failed != nil {
		return failed
	}
	return err
}

func call(p *syscall.LazyProc, args ...uintptr) error {
	if err := p.Find(); err != nil {
		return err
	}
	if ok, _, err := p.Call(args...); ok == 0 {
		return err
	}
	return nil
}
