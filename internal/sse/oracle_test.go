package sse_test

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/sse"
)

// What comes of a stream.
type outcome struct {
	Events []event
	Last   string // the last event id
	Retry  int    // milliseconds, -1 if not said
}

type event struct{ ID, Type, Data string }

// interpret does what the specification says in its own order: decode everything, then cut lines,
// then look at them. It is what the Reader is compared with, and knows no limits.
func interpret(stream []byte) outcome {
	text := strings.TrimPrefix(decodeUTF8(stream), "\ufeff")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	lines = lines[:len(lines)-1] // what has no end is discarded

	var data, typ, id string
	out := outcome{Retry: -1}
	for _, line := range lines {
		if line == "" {
			out.Last = id
			if data != "" {
				e := event{ID: id, Type: typ, Data: strings.TrimSuffix(data, "\n")}
				if typ == "" {
					e.Type = "message"
				}
				out.Events = append(out.Events, e)
			}
			data, typ = "", ""
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			typ = value
		case "data":
			data += value + "\n"
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		case "retry":
			if value != "" && strings.Trim(value, "0123456789") == "" {
				n, err := strconv.Atoi(value)
				if most := int(longest.Milliseconds()); err != nil || n > most {
					n = most
				}
				out.Retry = n
			}
		}
	}
	return out
}

// decodeUTF8 is the UTF-8 decoder of WHATWG Encoding (section 8.1.1), byte by byte and with its
// variables.
func decodeUTF8(in []byte) string {
	var out []rune
	var point rune
	var seen, needed int
	lower, upper := byte(0x80), byte(0xBF)
	for i := 0; i < len(in); i++ {
		b := in[i]
		if needed == 0 {
			switch {
			case b <= 0x7F:
				out = append(out, rune(b))
			case 0xC2 <= b && b <= 0xDF:
				needed, point = 1, rune(b&0x1F)
			case 0xE0 <= b && b <= 0xEF:
				if b == 0xE0 {
					lower = 0xA0
				}
				if b == 0xED {
					upper = 0x9F
				}
				needed, point = 2, rune(b&0xF)
			case 0xF0 <= b && b <= 0xF4:
				if b == 0xF0 {
					lower = 0x90
				}
				if b == 0xF4 {
					upper = 0x8F
				}
				needed, point = 3, rune(b&0x7)
			default:
				out = append(out, utf8.RuneError)
			}
			continue
		}
		if b < lower || b > upper {
			point, needed, seen, lower, upper = 0, 0, 0, 0x80, 0xBF
			out = append(out, utf8.RuneError)
			i-- // the byte is looked at again
			continue
		}
		lower, upper = 0x80, 0xBF
		point = point<<6 | rune(b&0x3F)
		if seen++; seen == needed {
			out = append(out, point)
			point, needed, seen = 0, 0, 0
		}
	}
	if needed > 0 {
		out = append(out, utf8.RuneError)
	}
	return string(out)
}

// written is what Append is to make of the data: its line ends as LF.
func written(data []byte) string {
	text := strings.ReplaceAll(decodeUTF8(data), "\r\n", "\n")
	return strings.ReplaceAll(text, "\r", "\n")
}

func same(a, b outcome) bool {
	return slices.Equal(a.Events, b.Events) && a.Last == b.Last && a.Retry == b.Retry
}

func taken(e sse.Event) event { return event{e.ID, e.Type, string(e.Data)} }
