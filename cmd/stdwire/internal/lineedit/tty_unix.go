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

// A tty is a terminal that is read key by key while it is in raw mode.
type tty struct {
	in, out *os.File
	saved   *syscall.Termios // the terminal's own mode, while it is in another
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
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}

// raw has keys come as they are pressed, none of them a signal or shown by itself. Output stays as it is.
func (t *tty) raw() error {
	if t.saved != nil {
		return nil
	}
	var own syscall.Termios
	if err := ioctl(t.in, getMode, unsafe.Pointer(&own)); err != nil {
		return err
	}
	if err := syscall.SetNonblock(int(t.in.Fd()), false); err != nil { // another program may have left it so
		return err
	}
	mode := own
	mode.Iflag &^= syscall.BRKINT | syscall.ICRNL | syscall.INPCK | syscall.ISTRIP | syscall.IXON
	mode.Lflag &^= syscall.ECHO | syscall.ICANON | syscall.IEXTEN | syscall.ISIG
	mode.Cc[syscall.VMIN], mode.Cc[syscall.VTIME] = 0, 1 // a read returns after a tenth of a second at the latest
	if err := ioctl(t.in, setMode, unsafe.Pointer(&mode)); err != nil {
		return err
	}
	t.saved = &own
	return nil
}

// restore puts the terminal back into its own mode.
func (t *tty) restore() error {
	if t.saved == nil {
		return nil
	}
	err := ioctl(t.in, setMode, unsafe.Pointer(t.saved))
	t.saved = nil
	return err
}

// read returns what has been typed; nothing, and no error, after a tenth of a second in which there was nothing.
func (t *tty) read(p []byte) (int, error) {
	n, err := syscall.Read(int(t.in.Fd()), p)
	if err != nil && !errors.Is(err, syscall.EINTR) && !errors.Is(err, syscall.EAGAIN) {
		return 0, err
	}
	if n > 0 {
		return n, nil
	}
	if _, _, err := terminal.Size(t.out); err != nil { // a terminal that has been hung up is at its end, too
		return 0, io.EOF
	}
	return 0, nil
}
