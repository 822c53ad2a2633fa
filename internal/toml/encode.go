package toml

import (
	"fmt"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

func (d *Document) addMark(toml int) { d.marks = append(d.marks, mark{len(d.JSON), toml}) }

func (d *Document) appendTable(t *table) {
	d.JSON = append(d.JSON, '{')
	for i, m := range t.members {
		if i > 0 {
			d.JSON = append(d.JSON, ',')
		}
		d.addMark(m.start)
		d.JSON = append(jsonscan.AppendString(d.JSON, m.key), ':')
		d.appendValue(m.value)
	}
	d.JSON = append(d.JSON, '}')
}

func (d *Document) appendValue(v value) {
	d.addMark(v.start)
	switch {
	case v.table != nil:
		d.appendTable(v.table)
	case v.array != nil:
		d.JSON = append(d.JSON, '[')
		for i, element := range v.array.elements {
			if i > 0 {
				d.JSON = append(d.JSON, ',')
			}
			d.appendValue(element)
		}
		d.JSON = append(d.JSON, ']')
	default:
		d.JSON = append(d.JSON, v.json...)
	}
}

// AppendString appends s as a basic string. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r < ' ' || r == 0x7f:
			dst = fmt.Appendf(dst, `\u%04X`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// AppendKey appends a key, quoted if it must be.
func AppendKey(dst []byte, key string) []byte {
	for i := range len(key) {
		if !isBareKey(key[i]) {
			return AppendString(dst, key)
		}
	}
	if key == "" {
		return append(dst, `""`...)
	}
	return append(dst, key...)
}
