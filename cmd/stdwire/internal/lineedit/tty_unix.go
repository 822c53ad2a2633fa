//go:build linux || darwin

package lineedit

import (
	"errors"
	"io"
	"os"
	"syscall"
	"unsafe"

	"github.com/stdwire/stdwire/internal/terminal"
)

// A tty is a terminal that can be switched to raw mode and read key by key.
type tty struct {
	in, out *os.File
	saved   *syscall.Termios // the mode to restore; nil if not in raw mode
}

// openTTY returns nil if in and out are not both a terminal.
func openTTY(in, out *os.File) *tty {
	var mode syscall.Termios
	for _, f := range []*os.File{in, out} {
		if ioctl(f, getMode, unsafe.Pointer(&mode)) != nil {
			return nil
		}
	}
	return &tty{in: in, out: out}
}

func ioctl(f *os.File, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request,
		uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}

// raw switches to raw mode: keys arrive when they are pressed, are not echoed and send no signals.
// Output is not affected.
func (t *tty) raw() error {
	if t.saved != nil {
		return nil
	}
	var own syscall.Termios
	if err := ioctl(t.in, getMode, unsafe.Pointer(&own)); err != nil {
		return err
	}
	if err := syscall.SetNonblock(int(t.in.Fd()), false); err != nil {
		// another program may have set it
		return err
	}
	mode := own
	mode.Iflag &^= syscall.BRKINT | syscall.ICRNL | syscall.INPCK | syscall.ISTRIP | syscall.IXON
	mode.Lflag &^= syscall.ECHO | syscall.ICANON | syscall.IEXTEN | syscall.ISIG
	mode.Cc[syscall.VMIN], mode.Cc[syscall.VTIME] = 0, 1 // a read returns after at most 100 ms
	if err := ioctl(t.in, setMode, unsafe.Pointer(&mode)); err != nil {
		return err
	}
	t.saved = &own
	return nil
}

// restore restores the mode that the terminal had before raw.
func (t *tty) restore() error {
	if t.saved == nil {
		return nil
	}
	err := ioctl(t.in, setMode, unsafe.Pointer(t.saved))
	t.saved = nil
	return err
}

// read reads input. After 100 ms without input it returns 0 and no error.
func (t *tty) read(p []byte) (int, error) {
	n, err := syscall.Read(int(t.in.Fd()), p)
	if err != nil && !errors.Is(err, syscall.EINTR) && !errors.Is(err, syscall.EAGAIN) {
		return 0, err
	}
	if n > 0 {
		return n, nil
	}
	if _, _, err := terminal.Size(t.out); err != nil { // after a hangup, too
		return 0, io.EOF
	}
	return 0, nil
}
