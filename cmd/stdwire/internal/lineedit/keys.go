package lineedit

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/printable"
)

// A key is a key press, or a part of a pasted text.
type key struct {
	code code
	r    rune   // of character; of control, the letter
	alt  bool   // Alt was held down, or an escape preceded the key
	text string // of pasted
}

type code int

const (
	ignored code = iota // a sequence without a meaning here
	character
	control
	enter
	tab
	escape
	backspace
	del
	up
	down
	left
	right
	home
	end
	wordLeft
	wordRight
	wordDelete
	pasteStart
	pasted
	pasteEnd
	cursorReport // not a key: the terminal reports the column of the cursor, in r
)

// A decoder decodes the bytes that a terminal sends into keys: UTF-8, control characters, and the
// escape sequences of ECMA-48 as xterm and compatible terminals use them.
type decoder struct {
	pasting bool // in a pasted text (bracketed paste)
	reports bool // the terminal was asked for the position of the cursor
}

const (
	esc         = 0x1b
	ctrlC       = 'c' & 0x1f
	pasteEnds   = "\x1b[201~"
	maxSequence = 64 // bytes of an escape sequence
)

// decode returns the first key of in and the number of its bytes, or 0 bytes if in is incomplete.
// final means that no input has come for a while, so that an escape is the Escape key.
func (d *decoder) decode(in []byte, final bool) (k key, n int) {
	switch {
	case len(in) == 0:
		return key{}, 0
	case d.pasting:
		return d.paste(in)
	case in[0] == esc:
		return d.escapeSequence(in, final)
	}
	return plainKey(in, final)
}

func plainKey(in []byte, final bool) (key, int) {
	switch b := in[0]; {
	case b == '\r' || b == '\n':
		return key{code: enter}, 1
	case b == '\t':
		return key{code: tab}, 1
	case b == '\b' || b == 0x7f:
		return key{code: backspace}, 1
	case b < ' ':
		return key{code: control, r: rune(b | 0x60)}, 1
	}
	if !final && !utf8.FullRune(in) {
		return key{}, 0
	}
	r, n := utf8.DecodeRune(in)
	return key{code: character, r: r}, n
}

func (d *decoder) escapeSequence(in []byte, final bool) (k key, n int) {
	if len(in) == 1 {
		return whenFinal(key{code: escape}, 1, final)
	}
	switch in[1] {
	case esc:
		return key{code: escape}, 1
	case '[':
		return d.sequence(in, final)
	case 'O':
		if len(in) == 2 {
			return whenFinal(key{code: character, r: 'O', alt: true}, 2, final)
		}
		return sequenceKey("", in[2]), 3
	}
	if k, n = plainKey(in[1:], final); n > 0 {
		k.alt = true
		n++
	}
	return k, n
}

// whenFinal returns a key that could also be the start of a longer sequence, if none follows.
func whenFinal(k key, n int, final bool) (key, int) {
	if !final {
		return key{}, 0
	}
	return k, n
}

// sequence decodes a control sequence: ESC [, parameters, and a letter.
func (d *decoder) sequence(in []byte, final bool) (key, int) {
	if len(in) == 2 {
		return whenFinal(key{code: character, r: '[', alt: true}, 2, final)
	}
	if in[2] == '[' { // a function key of the Linux console has one more letter
		if len(in) == 3 {
			return whenFinal(key{}, 3, final)
		}
		return key{}, 4
	}
	for i := 2; i < len(in); i++ {
		switch b := in[i]; {
		case i == maxSequence || b < ' ' || b > '~':
			return key{}, i
		case b >= '@':
			parameters := string(in[2:i])
			if b == '~' && parameters == "200" {
				d.pasting = true
				return key{code: pasteStart}, i + 1
			}
			if column, ok := parseCursorReport(parameters, b); ok && d.reports {
				d.reports = false
				return key{code: cursorReport, r: rune(column)}, i + 1
			}
			return sequenceKey(parameters, b), i + 1
		}
	}
	return whenFinal(key{}, len(in), final)
}

// parseCursorReport returns the column, counted from 0, of a report ESC [ row ; column R.
func parseCursorReport(parameters string, last byte) (column int, ok bool) {
	row, text, _ := strings.Cut(parameters, ";")
	column, err := strconv.Atoi(text)
	_, rowErr := strconv.Atoi(row)
	const maxColumn = 1 << 16
	return column - 1, last == 'R' && err == nil && rowErr == nil && 0 < column &&
		column <= maxColumn
}

// sequenceKeys maps the last letter of a sequence to its key; for ~, with the number before it.
var sequenceKeys = map[string]code{
	"A": up, "B": down, "C": right, "D": left, "H": home, "F": end, "1~": home, "7~": home,
	"4~": end, "8~": end, "3~": del,
}

// wordKeys maps keys to what they mean with Ctrl or Alt.
var wordKeys = map[code]code{left: wordLeft, right: wordRight, del: wordDelete}

func sequenceKey(parameters string, last byte) key {
	number, modifiers, _ := strings.Cut(parameters, ";")
	name := string(rune(last))
	if last == '~' {
		name = number + name
	}
	k := key{code: sequenceKeys[name]}
	const altOrCtrl = 2 | 4
	if m, err := strconv.Atoi(modifiers); err == nil && m > 0 && (m-1)&altOrCtrl != 0 {
		if c, ok := wordKeys[k.code]; ok {
			k.code = c
		}
	}
	return k
}

// paste decodes text between the marks of a paste. Ctrl-C ends the paste, because the end mark may
// be lost.
func (d *decoder) paste(in []byte) (key, int) {
	if in[0] == ctrlC {
		d.pasting = false
		return key{code: control, r: 'c'}, 1
	}
	if bytes.HasPrefix(in, []byte(pasteEnds)) {
		d.pasting = false
		return key{code: pasteEnd}, len(pasteEnds)
	}
	n := len(in)
	if i := bytes.Index(in, []byte(pasteEnds)); i >= 0 {
		n = i
	} else {
		n -= incompleteSuffix(in)
	}
	if i := bytes.IndexByte(in[:n], ctrlC); i >= 0 {
		n = i
	}
	return key{code: pasted, text: string(in[:n])}, n
}

// incompleteSuffix returns the number of bytes at the end of in that cannot be decoded without more
// input: the start of the end mark or of a character, or a \r that a \n may follow.
func incompleteSuffix(in []byte) int {
	for n := min(len(pasteEnds)-1, len(in)); n > 0; n-- {
		if strings.HasPrefix(pasteEnds, string(in[len(in)-n:])) {
			return n
		}
	}
	if in[len(in)-1] == '\r' {
		return 1
	}
	return len(in) - len(printable.TrimPartialRune(in))
}
