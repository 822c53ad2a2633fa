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

// Is reports whether a file is a console. It is false for other character devices, such as NUL, and
// for the pipes that a terminal of Cygwin or MSYS2 uses instead of a console.
func Is(f *os.File) bool {
	_, err := Mode(f)
	return err == nil
}

// Mode returns the input or output mode of a console, depending on the file.
func Mode(f *os.File) (mode uint32, err error) {
	err = control(f, func(h syscall.Handle) error { return syscall.GetConsoleMode(h, &mode) })
	return mode, err
}

// SetMode sets the input or output mode of a console, depending on the file.
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

// Size returns the number of columns and rows of a console's window.
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

// Discard drops input that was typed at a terminal and not read yet, so that it cannot answer a
// question that was printed later. It does nothing for files that are not terminals.
func Discard(f *os.File) {
	_ = control(f, func(h syscall.Handle) error { return call(flushInput, uintptr(h)) })
}

// control calls do with the handle of a file and keeps the file open meanwhile.
func control(f *os.File, do func(syscall.Handle) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	controlErr := conn.Control(func(h uintptr) { err = do(syscall.Handle(h)) })
	if controlErr != nil {
		return controlErr
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
