package jsonedit

import (
	"bytes"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/toml"
)

// PutTable adds the members of a JSON object as the table of TOML at a path of keys, in place of
// the existing definition if there is one. The error is an [*Error].
func (e *Editor) PutTable(keys []string, object []byte, exists bool) error {
	table := appendTable(nil, keys, object)
	if exists {
		replaced, err := e.replaceTables(keys, table)
		if replaced || err != nil {
			return err
		}
	}
	if content := bytes.TrimSuffix(e.raw, []byte("\n")); len(content) > 0 &&
		!bytes.HasSuffix(content, []byte("\n")) && !bytes.HasSuffix(content, []byte("\n\r")) &&
		!bytes.Equal(content, []byte("\xEF\xBB\xBF")) {
		table = append([]byte("\n"), table...)
	}
	e.appendLines(bytes.TrimSuffix(table, []byte("\n")))
	return nil
}

// appendTable appends a table of TOML with the members of an object of JSON.
func appendTable(dst []byte, keys []string, object []byte) []byte {
	dst = append(dst, '[')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = toml.AppendKey(dst, key)
	}
	dst = append(dst, "]\n"...)
	for token, value := range jsonscan.Members(object) {
		dst = append(appendPair(dst, token, value), '\n')
	}
	return dst
}

func appendPair(dst, token, value []byte) []byte {
	key, _ := jsonscan.Text(token)
	return appendTOML(append(toml.AppendKey(dst, key), " = "...), value)
}

// appendTOML appends a value of JSON other than null.
func appendTOML(dst, value []byte) []byte {
	switch value[0] {
	case '"':
		text, _ := jsonscan.Text(value)
		return toml.AppendString(dst, text)
	case '[':
		dst = append(dst, '[')
		first := true
		for element := range jsonscan.Elements(value) {
			if !first {
				dst = append(dst, ", "...)
			}
			dst, first = appendTOML(dst, element), false
		}
		return append(dst, ']')
	case '{':
		dst = append(dst, '{')
		separator := " "
		for token, v := range jsonscan.Members(value) {
			dst = appendPair(append(dst, separator...), token, v)
			separator = ", "
		}
		return append(dst, " }"...)
	}
	return append(dst, value...)
}

// RemoveTables removes all statements of TOML that define the value at a path of keys, each with
// its line and the blank line before a table. The error is an [*Error].
func (e *Editor) RemoveTables(keys []string) error {
	_, err := e.replaceTables(keys, nil)
	return err
}

// replaceTables is RemoveTables. If table is not nil, it replaces the first statement, provided
// that this is a table of its own.
func (e *Editor) replaceTables(keys []string, table []byte) (replaced bool, err error) {
	within := func(s toml.Statement) bool {
		return len(s.Path) >= len(keys) && slices.Equal(s.Path[:len(keys)], keys)
	}
	statements := e.text.TOML.Statements
	for i := 0; i < len(statements); i++ {
		if !within(statements[i]) {
			continue
		}
		first := statements[i]
		for i+1 < len(statements) && within(statements[i+1]) {
			i++
		}
		start, end := e.lines(first.Start, statements[i].End)
		switch {
		case first.Header && table != nil && e.Edits == nil:
			e.Edits = append(e.Edits, Edit{start, end, table})
			replaced = true
			continue
		case first.Header:
			start = e.blankLineBefore(start)
		}
		e.Edits = append(e.Edits, Edit{start, end, nil})
	}
	if e.Edits == nil {
		root, _ := e.text.Root()
		return false, e.text.Errorf(root.Start,
			"%q is defined within an inline table, which stdwire does not change; remove it by hand",
			keys[len(keys)-1])
	}
	return replaced, nil
}

// lines extends a range to whole lines.
func (e *Editor) lines(start, end int) (int, int) {
	start = bytes.LastIndexByte(e.raw[:start], '\n') + 1
	if start == 0 && bytes.HasPrefix(e.raw, []byte("\xEF\xBB\xBF")) {
		start = 3
	}
	if i := bytes.IndexByte(e.raw[end:], '\n'); i >= 0 {
		return start, end + i + 1
	}
	return start, len(e.raw)
}

// blankLineBefore returns the start of the blank line before a line, or the line's own.
func (e *Editor) blankLineBefore(start int) int {
	line := bytes.TrimSuffix(bytes.TrimSuffix(e.raw[:start], []byte("\n")), []byte("\r"))
	if len(line) < start && (len(line) == 0 || line[len(line)-1] == '\n') {
		return len(line)
	}
	return start
}
