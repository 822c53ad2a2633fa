package jsonedit

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// An Editor collects edits of a text.
type Editor struct {
	Edits   []Edit
	text    *Text
	raw     []byte
	step    string // the indentation of a level
	newline string // a line end
}

// NewEditor returns an editor that writes in the style of a text, which is valid.
func NewEditor(t *Text) *Editor {
	e := &Editor{text: t, raw: t.Raw, step: "  ", newline: "\n"}
	if i := bytes.IndexByte(t.Raw, '\n'); i > 0 && t.Raw[i-1] == '\r' {
		e.newline = "\r\n"
	}
	if root, ok := t.Root(); ok && t.TOML == nil {
		if members := root.Members(); len(members) > 0 && e.ownLine(members[0].Offset) {
			e.step = cmp.Or(e.indentation(members[0].Offset), e.step)
		}
	}
	return e
}

// An Edit replaces the bytes from Start to End of the file.
type Edit struct {
	Start, End int
	Text       []byte
}

// Shorten returns the edit without the unchanged bytes at both ends. data is the file.
func (d Edit) Shorten(data []byte) Edit {
	for d.Start < d.End && len(d.Text) > 0 && data[d.Start] == d.Text[0] {
		d.Start, d.Text = d.Start+1, d.Text[1:]
	}
	for d.Start < d.End && len(d.Text) > 0 && data[d.End-1] == d.Text[len(d.Text)-1] {
		d.End, d.Text = d.End-1, d.Text[:len(d.Text)-1]
	}
	return d
}

// Apply returns the changed file, and sorts the edits.
func (e *Editor) Apply() []byte {
	slices.SortStableFunc(e.Edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	var out []byte
	end := 0
	for i, edit := range e.Edits {
		if e.newline != "\n" {
			edit.Text = bytes.ReplaceAll(edit.Text, []byte("\n"), []byte(e.newline))
			e.Edits[i] = edit
		}
		out = append(append(out, e.raw[end:edit.Start]...), edit.Text...)
		end = edit.End
	}
	return append(out, e.raw[end:]...)
}

// Append adds JSON, over several lines, at the end of a text without a value.
func (e *Editor) Append(json []byte) { e.appendLines(Indent(json, "", e.step)) }

// appendLines adds text at the end of the file, on lines of its own.
func (e *Editor) appendLines(text []byte) {
	if len(e.raw) > 0 && e.raw[len(e.raw)-1] != '\n' && !bytes.Equal(e.raw, []byte("\xEF\xBB\xBF")) {
		text = append([]byte("\n"), text...)
	}
	e.Edits = append(e.Edits, Edit{len(e.raw), len(e.raw), append(text, '\n')})
}

// Replace replaces a value, and the comments in it, by JSON over several lines. at is an offset in
// the line whose indentation these have.
func (e *Editor) Replace(v Value, at int, json []byte) {
	e.Edits = append(e.Edits, Edit{v.Start, v.End, Indent(json, e.indentation(at), e.step)})
}

// Insert adds members to an object or elements to an array, after the existing ones and the
// comments that follow them. It removes nothing. A comma follows the last of them if one followed
// the last existing one.
func (e *Editor) Insert(container Value, added []Item) {
	if len(added) == 0 {
		return
	}
	closing := container.End - 1
	outer := e.indentation(container.Start)
	inner := outer + e.step
	first, last := 0, 0 // the start of the first existing element and the end of the last
	for _, m := range container.Members() {
		first = cmp.Or(first, m.Offset)
		last = m.End
	}
	for _, v := range container.Elements() {
		first = cmp.Or(first, v.Start)
		last = v.End
	}
	trailing := false
	if first != 0 {
		if own := e.indentation(first); bytes.ContainsRune(e.raw[container.Start:first], '\n') {
			inner = own
		}
		if trailing = e.comma(last, closing) >= 0; !trailing {
			e.Edits = append(e.Edits, Edit{last, last, []byte(",")})
		}
	}
	at := closing
	for at > container.Start+1 && strings.IndexByte(" \t\r\n", e.raw[at-1]) >= 0 {
		at--
	}
	var text []byte
	for i, item := range added {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, "\n"+inner...), item.text(inner, e.step)...)
	}
	if trailing {
		text = append(text, ',')
	}
	if !bytes.ContainsRune(e.raw[at:closing], '\n') {
		text = append(text, "\n"+outer...)
	}
	e.Edits = append(e.Edits, Edit{at, at, text})
}

// comma returns the offset of the comma that follows a value before the offset end, or -1.
func (e *Editor) comma(value, end int) int {
	for i := value; i < end; {
		switch e.raw[i] {
		case ',':
			return i
		case '/':
			i, _ = commentEnd(e.raw, i) // the file has been validated
		default:
			i++
		}
	}
	return -1
}

// ownLine reports whether only white space precedes a byte in its line, and the line is not the
// first.
func (e *Editor) ownLine(at int) bool {
	i := bytes.LastIndexByte(e.raw[:at], '\n')
	return i >= 0 && len(bytes.TrimLeft(e.raw[i+1:at], " \t")) == 0
}

// indentation returns the white space at the beginning of the line of a byte.
func (e *Editor) indentation(at int) string {
	start := bytes.LastIndexByte(e.raw[:at], '\n') + 1
	end := start
	for end < at && (e.raw[end] == ' ' || e.raw[end] == '\t') {
		end++
	}
	return string(e.raw[start:end])
}
