package lineedit

import (
	"os"
	"syscall"
	"unicode/utf16"
	"unsafe"

	"github.com/stdwire/stdwire/internal/terminal"
)

var readConsoleInput = syscall.NewLazyDLL("kernel32.dll").NewProc("ReadConsoleInputW")

const (
	enableProcessedInput = 0x1
	enableLineInput      = 0x2
	enableEchoInput      = 0x4
	enableTerminalInput  = 0x200 // keys come as the escape sequences of xterm
	keyEvent             = 1
)

// A tty is a console that can be switched to raw mode and read key by key.
type tty struct {
	in, out *os.File
	high    rune // first half of a surrogate pair, or 0

	changed bool
	saved   uint32 // the input mode to restore, if changed
}

// openTTY returns nil if the console is too old to give keys as escape sequences.
func openTTY(in, out *os.File) *tty {
	t := &tty{in: in, out: out}
	if readConsoleInput.Find() != nil || t.raw() != nil || t.restore() != nil {
		return nil
	}
	return t
}

// raw switches to raw mode: keys arrive when they are pressed, are not echoed and send no signals.
func (t *tty) raw() error {
	if t.changed {
		return nil
	}
	own, err := terminal.Mode(t.in)
	if err != nil {
		return err
	}
	raw := own &^ (enableProcessedInput | enableLineInput | enableEchoInput)
	if err := terminal.SetMode(t.in, raw|enableTerminalInput); err != nil {
		return err
	}
	terminal.EnableEscapes(t.out) // another program may have disabled them
	t.changed, t.saved = true, own
	return nil
}

// restore restores the mode that the console had before raw.
func (t *tty) restore() error {
	if !t.changed {
		return nil
	}
	t.changed = false
	return terminal.SetMode(t.in, t.saved)
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

// read reads input as UTF-8. After 100 ms without input it returns 0 and no error.
func (t *tty) read(p []byte) (int, error) {
	const timeout = 100 // ms
	in := syscall.Handle(t.in.Fd())
	event, err := syscall.WaitForSingleObject(in, timeout)
	if err != nil || event != syscall.WAIT_OBJECT_0 {
		return 0, err
	}
	var records [64]inputRecord
	var count uint32
	ok, _, err := readConsoleInput.Call(uintptr(in), uintptr(unsafe.Pointer(&records)),
		uintptr(len(records)), uintptr(unsafe.Pointer(&count)))
	if ok == 0 {
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
