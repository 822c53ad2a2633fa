package lineedit

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/internal/printable"
)

// A display shows a prompt and a line on a terminal, starting in the row of the cursor and using as
// many rows as needed. If they are more than the terminal has, it shows the part with the cursor.
// It is safe for concurrent use.
type display struct {
	w    io.Writer
	size func() (columns, rows int) // of the terminal

	mu     sync.Mutex
	shown  bool
	prompt string
	line   line // a copy of the line shown
	up     int  // rows between the first row shown and the cursor
	column int  // of the cursor
	width  int  // of the terminal, when the line was drawn
	height int
}

// A row is the text in one row of the terminal.
type row struct {
	text    strings.Builder
	used    int  // columns
	newline bool // the text ends in a line end, not at the margin
}

// layout breaks a prompt and a line into rows as the terminal does, and returns the position of the
// cursor. If the cursor is at the end, layout adds a blank under it, so that the cursor moves with
// the text when the terminal rewraps its rows.
func layout(prompt string, l *line, columns int) (rows []*row, cursorRow, cursorColumn int) {
	last := new(row)
	rows = []*row{last}
	next := func() {
		last = new(row)
		rows = append(rows, last)
	}
	put := func(text string, width int) {
		if last.used+width > columns {
			next()
		}
		last.text.WriteString(text)
		last.used += width
	}
	show := func(c printable.Cell) {
		if !c.IsReplacement {
			put(c.Text, c.Columns)
			return
		}
		for _, part := range c.Text {
			put(string(part), 1)
		}
	}
	for c := range printable.Cells(prompt) {
		show(c)
	}
	for i, n := 0, 1; ; i += n {
		if n = 1; i < len(l.text) {
			n = printable.CharacterLen(l.text[i:])
		}
		atCursor := i <= l.pos && l.pos < i+n
		if last.used == columns && (atCursor || i < len(l.text) && l.text[i] == '\n') {
			next() // the position of the next character
		}
		if atCursor {
			cursorRow, cursorColumn = len(rows)-1, last.used
		}
		switch {
		case i == len(l.text):
			if atCursor {
				put(" ", 1)
			}
			return rows, cursorRow, cursorColumn
		case l.text[i] == '\n':
			last.newline = true
			next()
		default:
			c := printable.CellOfCharacter(l.text[i : i+n])
			if atCursor && last.used+c.Columns > columns {
				cursorRow, cursorColumn = len(rows), 0 // the cursor moves with its character
			}
			show(c)
		}
	}
}

// start moves the cursor to the start of a row. It writes blanks up to the margin, which wrap to
// the next row if the cursor was not in the first column.
func (d *display) start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	columns, _ := d.size()
	_, _ = io.WriteString(d.w, strings.Repeat(" ", columns-1)+"\r\x1b[J")
}

// draw replaces the prompt and line shown.
func (d *display) draw(prompt string, l *line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.prompt, d.line = prompt, line{slices.Clone(l.text), l.pos}
	_, _ = io.WriteString(d.w, d.eraseSequence()+d.drawSequence())
}

// unknownColumn is the column of the cursor if the terminal has not reported it.
const unknownColumn = -1

// sizeChanged reports whether the size of the terminal has changed since the line was drawn. If it
// has and ask is set, sizeChanged asks the terminal for the position of the cursor.
func (d *display) sizeChanged(ask bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	columns, rows := d.size()
	changed := d.shown && (columns != d.width || rows != d.height)
	if changed && ask {
		_, _ = io.WriteString(d.w, "\x1b[6n")
	}
	return changed
}

// redraw draws the prompt and line again if the size of the terminal has changed. column is the
// column of the cursor that the terminal has reported, or unknownColumn.
func (d *display) redraw(column int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if columns, rows := d.size(); d.shown && (columns != d.width || rows != d.height) {
		_, _ = io.WriteString(d.w, d.eraseSequenceAt(column)+d.drawSequence())
	}
}

// hide erases the prompt and line.
func (d *display) hide() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = io.WriteString(d.w, d.eraseSequence())
}

// print prints lines above the prompt and line.
func (d *display) print(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.shown {
		return d.w.Write(p)
	}
	text := string(p)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(d.w, d.eraseSequence()+text+d.drawSequence())
	return len(p), err
}

// clear clears the terminal and draws the prompt and line at its top.
func (d *display) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown = false
	_, _ = io.WriteString(d.w, "\x1b[H\x1b[2J"+d.drawSequence())
}

// finish leaves the line on the terminal, followed by mark, and moves to the next row.
func (d *display) finish(mark string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.line.pos = len(d.line.text)
	_, _ = io.WriteString(d.w, d.eraseSequence()+d.drawSequence()+mark+"\n")
	d.shown = false
}

// eraseSequence returns the text that erases the prompt and line and moves the cursor to their
// start.
func (d *display) eraseSequence() string { return d.eraseSequenceAt(unknownColumn) }

// eraseSequenceAt is eraseSequence for the column that the terminal has reported, or unknownColumn.
func (d *display) eraseSequenceAt(column int) string {
	if !d.shown {
		return ""
	}
	d.shown = false
	if columns, rows := d.size(); columns != d.width || rows != d.height {
		// The terminal has rewrapped the rows, as most do, or has kept them. The column of the
		// cursor tells which. If it is ambiguous, part of the line may remain, but no text above
		// the line is erased.
		wrapped, cursor, moved := layout(d.prompt, &d.line, columns)
		up, stayed := cursor-firstShown(len(wrapped), cursor, rows), min(d.column, columns-1)
		switch {
		case column == moved && moved != stayed:
			d.up = up
		case column != stayed || moved == stayed:
			d.up = min(d.up, up)
		}
	}
	return "\r" + move(d.up, 'A') + "\x1b[J"
}

// drawSequence returns the text that shows the prompt and the line.
func (d *display) drawSequence() string {
	d.width, d.height = d.size()
	rows, cursor, column := layout(d.prompt, &d.line, d.width)
	first := firstShown(len(rows), cursor, d.height)
	rows = rows[first:min(len(rows), first+d.height)]
	var b strings.Builder
	for i, r := range rows {
		if i > 0 && (rows[i-1].newline || r.used == 0) {
			b.WriteString("\r\n")
		}
		b.WriteString(r.text.String())
	}
	d.up, d.column, d.shown = cursor-first, column, true
	b.WriteString("\r" + move(len(rows)-1-d.up, 'A') + move(column, 'C'))
	return b.String()
}

// firstShown returns the index of the first row to show.
func firstShown(rows, cursor, height int) int {
	return max(0, min(cursor-height/2, rows-height))
}

// move returns the sequence that moves the cursor n cells: A up, C to the right.
func move(n int, direction byte) string {
	if n == 0 {
		return ""
	}
	return "\x1b[" + strconv.Itoa(n) + string(rune(direction))
}
