package lineedit

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A display shows a prompt and a line on a terminal, from the row on where the cursor was, over as many rows as it takes. Of one that is higher than
// the terminal it shows the part that the cursor is in. It is safe for concurrent use.
type display struct {
	w    io.Writer
	size func() (columns, rows int) // of the terminal

	mu     sync.Mutex
	shown  bool
	prompt string
	line   line // a copy of what is shown
	up     int  // rows that the cursor is below the first of those that are shown
	column int  // in which the cursor is
	width  int  // of the terminal, when that was
	height int
}

// A row is what stands in one row of the terminal.
type row struct {
	text  strings.Builder
	used  int  // columns
	broke bool // by a line end, not because there was no more room
}

// lay breaks a prompt and a line into rows, as the terminal will, and returns where the cursor is among them. If that is the end, there is a blank for it to
// stand on: so it goes where the text goes, when the terminal breaks its rows anew.
func lay(prompt string, l *line, columns int) (rows []*row, cursorRow, cursorColumn int) {
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
	show := func(r rune) {
		c := cellOf(r)
		if !c.isReplacement() {
			put(c.text, c.columns)
			return
		}
		for _, part := range c.text {
			put(string(part), 1)
		}
	}
	for _, r := range prompt {
		show(r)
	}
	for i := 0; ; i++ {
		if last.used == columns && (i == l.pos || i < len(l.text) && l.text[i] == '\n') {
			next() // where the next character would be
		}
		if i == l.pos {
			cursorRow, cursorColumn = len(rows)-1, last.used
		}
		switch {
		case i == len(l.text):
			if i == l.pos {
				put(" ", 1)
			}
			return rows, cursorRow, cursorColumn
		case l.text[i] == '\n':
			last.broke = true
			next()
		default:
			if i == l.pos && last.used+cellOf(l.text[i]).columns > columns {
				cursorRow, cursorColumn = len(rows), 0 // it goes with its character
			}
			show(l.text[i])
		}
	}
}

// start goes to the beginning of a row: the next one, if anything stands before the cursor, as then blanks up to the margin wrap.
func (d *display) start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	columns, _ := d.size()
	_, _ = io.WriteString(d.w, strings.Repeat(" ", columns-1)+"\r\x1b[J")
}

// draw shows a prompt and a line in place of what is shown.
func (d *display) draw(prompt string, l *line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.prompt, d.line = prompt, line{slices.Clone(l.text), l.pos}
	_, _ = io.WriteString(d.w, d.erased()+d.drawn())
}

// unknownColumn is in which column the cursor is if the terminal has not said.
const unknownColumn = -1

// resized reports whether the terminal has another size than when the line was shown. If ask, it is
// asked where the cursor is now.
func (d *display) resized(ask bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	columns, rows := d.size()
	changed := d.shown && (columns != d.width || rows != d.height)
	if changed && ask {
		_, _ = io.WriteString(d.w, "\x1b[6n")
	}
	return changed
}

// redraw draws anew what is shown, if the terminal has another size now. column is where the
// terminal says that the cursor is, or unknownColumn.
func (d *display) redraw(column int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if columns, rows := d.size(); d.shown && (columns != d.width || rows != d.height) {
		_, _ = io.WriteString(d.w, d.erasedAt(column)+d.drawn())
	}
}

// hide takes away what is shown.
func (d *display) hide() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = io.WriteString(d.w, d.erased())
}

// print prints lines above what is shown.
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
	_, err := io.WriteString(d.w, d.erased()+text+d.drawn())
	return len(p), err
}

// clear empties the terminal, but for what is shown.
func (d *display) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shown = false
	_, _ = io.WriteString(d.w, "\x1b[H\x1b[2J"+d.drawn())
}

// finish leaves what is shown where it is, with a mark behind it, and goes to the row below.
func (d *display) finish(mark string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.line.pos = len(d.line.text)
	_, _ = io.WriteString(d.w, d.erased()+d.drawn()+mark+"\n")
	d.shown = false
}

// erased returns what takes away what is shown, and goes back to where it began.
func (d *display) erased() string { return d.erasedAt(unknownColumn) }

// erasedAt is erased when the terminal may have said in which column the cursor is.
func (d *display) erasedAt(column int) string {
	if !d.shown {
		return ""
	}
	d.shown = false
	if columns, rows := d.size(); columns != d.width || rows != d.height {
		// The terminal has broken the rows anew, as most do, or has left them as they are. Where
		// the cursor is tells which. If it does not, some of the line may be left over, but nothing
		// above the line is taken away.
		laid, cursor, moved := lay(d.prompt, &d.line, columns)
		up, stayed := cursor-firstShown(len(laid), cursor, rows), min(d.column, columns-1)
		switch {
		case column == moved && moved != stayed:
			d.up = up
		case column != stayed || moved == stayed:
			d.up = min(d.up, up)
		}
	}
	return "\r" + move(d.up, 'A') + "\x1b[J"
}

// drawn returns what shows the prompt and the line.
func (d *display) drawn() string {
	d.width, d.height = d.size()
	rows, cursor, column := lay(d.prompt, &d.line, d.width)
	first := firstShown(len(rows), cursor, d.height)
	rows = rows[first:min(len(rows), first+d.height)]
	var b strings.Builder
	for i, r := range rows {
		if i > 0 && (rows[i-1].broke || r.used == 0) {
			b.WriteString("\r\n")
		}
		b.WriteString(r.text.String())
	}
	d.up, d.column, d.shown = cursor-first, column, true
	b.WriteString("\r" + move(len(rows)-1-d.up, 'A') + move(column, 'C'))
	return b.String()
}

// firstShown is the first of the rows that is shown.
func firstShown(rows, cursor, height int) int {
	return max(0, min(cursor-height/2, rows-height))
}

// move is a movement of the cursor, A up and C to the right.
func move(n int, direction byte) string {
	if n == 0 {
		return ""
	}
	return "\x1b[" + strconv.Itoa(n) + string(rune(direction))
}
