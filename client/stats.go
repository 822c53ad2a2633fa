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

// Stats counts messages of the server that the client skipped, repaired or dropped.
type Stats struct {
	Junk      int      // lines that are not MCP messages: usually logs that belong on stderr
	Samples   []string // the first ten of them, cut to 200 characters, safe to print
	Late      int      // responses to requests that were cancelled, for example after a timeout
	Unmatched int      // responses without a request, and second ones
	// responses with the id of their request in another notation, such as "1" for 1
	OtherIDs    int
	Repaired    int // messages with invalid Unicode, which U+FFFD has replaced
	DroppedLogs int // log messages that arrived faster than Options.OnLog returned
}

// lockedStats are the Stats of a client.
type lockedStats struct {
	mu sync.Mutex
	Stats
}

// Stats returns the counts so far.
func (c *Client) Stats() Stats {
	c.stats.mu.Lock()
	defer c.stats.mu.Unlock()
	n := c.stats.Stats
	n.Samples = slices.Clone(n.Samples)
	return n
}

func (n *lockedStats) count(f func(n *Stats)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.Stats)
}

// stray handles, on the reader's goroutine, frames that the peer rejects. If only the Unicode of a
// message is invalid, it is repaired and read again: JavaScript's slice can split a surrogate pair,
// and the call must still end.
func (c *Client) stray(frame []byte, reason string) {
	if hook := c.o.Hooks.Safe().Stray; hook != nil {
		hook(frame, reason)
	}
	valid := jsonscan.Valid(frame) == nil
	if !valid {
		if fixed := repairUnicode(frame); jsonscan.Valid(fixed) == nil {
			c.codec.repaired = fixed
			c.stats.count(func(n *Stats) { n.Repaired++ })
			return
		}
	}
	if valid && jsonscan.Member(frame, "jsonrpc") != nil {
		late := c.lateResponse(frame)
		c.stats.count(func(n *Stats) {
			if late {
				n.Late++
			} else {
				n.Unmatched++
			}
		})
		return
	}
	c.stats.count(func(n *Stats) {
		n.Junk++
		if len(n.Samples) < maxSamples {
			n.Samples = append(n.Samples, sample(frame))
		}
	})
}

// countOtherID is the hook of the peer.
func (c *Client) countOtherID(frame []byte) {
	if hook := c.o.Hooks.Safe().OtherID; hook != nil {
		hook(frame)
	}
	c.stats.count(func(n *Stats) { n.OtherIDs++ })
}

// sample returns the beginning of a line, safe to print.
func sample(line []byte) string {
	line = line[:min(len(line), maxSample*utf8.UTFMax)]
	text := []rune(printable.Line(string(line)))
	if len(text) > maxSample {
		text = append(text[:maxSample-1], '…')
	}
	return string(text)
}

// repairUnicode replaces invalid UTF-8 and escapes of unpaired surrogates in JSON text by U+FFFD.
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
			i += 2 // skips an escaped backslash too
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

// surrogate returns the surrogate that text begins with in escaped form; 0 for none.
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
