package client

import (
	"bytes"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

const (
	maxSamples = 10  // of junk
	maxSample  = 200 // characters of each
)

// Noise is what a server sent that it should not have.
type Noise struct {
	Junk        int      // lines that are no MCP message: usually a log that should go to stderr
	Samples     []string // the first ten of them, cut to 200 characters, fit to be printed
	Unmatched   int      // answers to nothing: late ones to calls that were given up, and duplicates
	Repaired    int      // messages with invalid Unicode (half a surrogate pair, or no UTF-8), in which U+FFFD took its place
	DroppedLogs int      // log messages that came faster than Options.OnLog took them
}

type noise struct {
	mu sync.Mutex
	Noise
}

// Noise returns what the server has sent so far that it should not have. It may be called at any time.
func (c *Client) Noise() Noise {
	c.noise.mu.Lock()
	defer c.noise.mu.Unlock()
	n := c.noise.Noise
	n.Samples = slices.Clone(n.Samples)
	return n
}

func (n *noise) count(f func(n *Noise)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.Noise)
}

// stray sees, on the reader's goroutine, what the peer could do nothing with. A message whose only fault is its Unicode gets a second chance: JavaScript's
// slice cuts characters in half, and a call must not wait for ever because its answer contains one.
func (c *Client) stray(frame []byte, reason string) {
	if hook := c.o.Hooks.Safe().Stray; hook != nil {
		hook(frame, reason)
	}
	valid := jsonscan.Valid(frame) == nil
	if !valid {
		if fixed := repairUnicode(frame); jsonscan.Valid(fixed) == nil {
			c.codec.repaired = fixed
			c.noise.count(func(n *Noise) { n.Repaired++ })
			return
		}
	}
	if valid && jsonscan.Member(frame, "jsonrpc") != nil {
		c.noise.count(func(n *Noise) { n.Unmatched++ })
		c.cancelLateTask(frame)
		return
	}
	c.noise.count(func(n *Noise) {
		n.Junk++
		if len(n.Samples) < maxSamples {
			n.Samples = append(n.Samples, sample(frame))
		}
	})
}

// sample is the beginning of a line, fit to be printed.
func sample(line []byte) string {
	line = line[:min(len(line), maxSample*utf8.UTFMax)]
	text := []rune(printable.Line(string(line)))
	if len(text) > maxSample {
		text = append(text[:maxSample-1], '…')
	}
	return string(text)
}

// repairUnicode returns JSON text with U+FFFD in place of what cannot be Unicode: bytes that are not UTF-8, and escapes of one half of
// a surrogate pair.
func repairUnicode(text []byte) []byte {
	text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	var fixed []byte
	kept := 0
	for i := 0; i+1 < len(text); {
		if text[i] != '\\' {
			i++
			continue
		}
		switch half := surrogate(text[i:]); {
		case half == 0:
			i += 2 // also past the second backslash of two
		case half < 0xDC00 && surrogate(text[i+6:]) >= 0xDC00:
			i += 12
		default:
			fixed = append(append(fixed, text[kept:i]...), `\ufffd`...)
			i += 6
			kept = i
		}
	}
	return append(fixed, text[kept:]...)
}

// surrogate returns the half of a surrogate pair whose escape text starts with, 0 if it is none.
func surrogate(text []byte) (r rune) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' || text[2]|0x20 != 'd' {
		return 0
	}
	for _, c := range text[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0
		}
		r = r<<4 | rune(c)
	}
	if r < 0xD800 {
		return 0
	}
	return r
}
