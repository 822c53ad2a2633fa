package lineedit

import (
	"errors"
	"io"
	"os"
	"syscall"
	"unicode/utf16"
	"unsafe"
)

var (
	kernel32         = syscall.NewLazyDLL("kernel32.dll")
	setConsoleMode   = kernel32.NewProc("SetConsoleMode")
	readConsoleInput = kernel32.NewProc("ReadConsoleInputW")
	screenBufferInfo = kernel32.NewProc("GetConsoleScreenBufferInfo")
)

const (
	enableProcessedInput  = 0x1
	enableLineInput       = 0x2
	enableEchoInput       = 0x4
	enableTerminalInput   = 0x200 // keys come as the escape sequences of xterm
	enableProcessedOutput = 0x1
	enableTerminalOutput  = 0x4 // and such sequences work
	keyEvent              = 1
)

// A tty is a console that is read key by key while it is in raw mode.
type tty struct {
	in, out syscall.Handle
	high    rune // half a character that has come

	changed        bool
	inMode, outWas uint32 // the console's own modes, while it is in others
}

// openTTY returns nil if in and out are not both a console, or it is too old to know escape sequences.
func openTTY(in io.Reader, out io.Writer) *tty {
	i, isFile := in.(*os.File)
	o, alsoFile := out.(*os.File)
	if !isFile || !alsoFile || readConsoleInput.Find() != nil || screenBufferInfo.Find() != nil || setConsoleMode.Find() != nil {
		return nil
	}
	t := &tty{in: syscall.Handle(i.Fd()), out: syscall.Handle(o.Fd())}
	if t.raw() != nil || t.restore() != nil {
		return nil
	}
	return t
}

func call(p *syscall.LazyProc, args ...uintptr) error {
	if ok, _, err := p.Call(args...); ok == 0 {
		return err
	}
	return nil
}

// raw has keys come as they are pressed, none of them a signal or shown by itself.
func (t *tty) raw() error {
	if t.changed {
		return nil
	}
	if err := syscall.GetConsoleMode(t.in, &t.inMode); err != nil {
		return err
	}
	if err := syscall.GetConsoleMode(t.out, &t.outWas); err != nil {
		return err
	}
	if err := call(setConsoleMode, uintptr(t.out), uintptr(t.outWas|enableProcessedOutput|enableTerminalOutput)); err != nil {
		return err
	}
	t.changed = true
	mode := t.inMode&^(enableProcessedInput|enableLineInput|enableEchoInput) | enableTerminalInput
	if err := call(setConsoleMode, uintptr(t.in), uintptr(mode)); err != nil {
		return errors.Join(err, t.restore())
	}
	return nil
}

// restore puts the console back into its own modes.
func (t *tty) restore() error {
	if !t.changed {
		return nil
	}
	t.changed = false
	return errors.Join(call(setConsoleMode, uintptr(t.in), uintptr(t.inMode)), call(setConsoleMode, uintptr(t.out), uintptr(t.outWas)))
}

// An inputRecord is INPUT_RECORD with a KEY_EVENT_RECORD in it.
type inputRecord struct {
	event   uint16
	_       uint16
	down    int32
	repeat  uint16
	keyCode uint16
	scan    uint16
	char    uint16
	state   uint32
}

// read returns what has been typed, in UTF-8; nothing, and no error, after a tenth of a second in which there was nothing.
func (t *tty) read(p []byte) (int, error) {
	const patience = 100 // ms
	if event, err := syscall.WaitForSingleObject(t.in, patience); err != nil || event != syscall.WAIT_OBJECT_0 {
		return 0, err
	}
	var records [64]inputRecord
	var count uint32
	if err := call(readConsoleInput, uintptr(t.in), uintptr(unsafe.Pointer(&records)), uintptr(len(records)), uintptr(unsafe.Pointer(&count))); err != nil {
		return 0, err
	}
	typed := p[:0]
	for _, r := range records[:count] {
		switch char := rune(r.char); {
		case r.event != keyEvent || r.down == 0 || char == 0:
		case utf16.IsSurrogate(char) && t.high == 0:
			t.high = char
		default:
			if t.high != 0 {
				char, t.high = utf16.DecodeRune(t.high, char), 0
			}
			typed = append(typed, string(char)...)
		}
	}
	return len(typed), nil
}

func (t *tty) size() (columns, rows int, err error) {
	var info struct {
		width, height, x, y      int16
		attributes               uint16
		left, top, right, bottom int16
		maxWidth, maxHeight      int16
	}
	err = call(screenBufferInfo, uintptr(t.out), uintptr(unsafe.Pointer(&info)))
	return int(info.right-info.left) + 1, int(info.bottom-info.top) + 1, err
}
