package lineedit

import (
	"io"
	"slices"
	"strings"
)

// newEntry returns an empty line with the editor's history.
func (e *Editor) newEntry(prompt string) entry {
	return entry{prompt: prompt, history: e.o.History, complete: e.o.Complete,
		incomplete: e.o.Incomplete, at: len(e.o.History.lines)}
}

// begin shows a line, in a row of its own, for editing.
func (e *Editor) begin(line entry) {
	e.entry = line
	e.display.start()
	e.show()
}

// finish ends editing of the line.
func (e *Editor) finish(err error, mark string) {
	if e.search != nil {
		e.accept()
	}
	e.display.draw(e.prompt, &e.line)
	e.display.finish(mark)
	e.ended, e.err = true, err
	if err != nil {
		e.line = line{}
	}
}

// show draws the line, or the search.
func (e *Editor) show() {
	if e.search != nil {
		e.search.show(e.display)
		return
	}
	e.display.draw(e.prompt, &e.line)
}

// processKeys handles the pending keys, up to the end of the line. final means that no input has
// come for a while.
func (e *Editor) processKeys(final bool) {
	processed := 0
	for !e.ended {
		k, n := e.decoder.decode(e.pending, final)
		if n == 0 {
			break
		}
		processed += n
		e.pending = e.pending[n:]
		e.handleKey(k)
	}
	if processed > 0 && !e.ended {
		e.show()
	}
}

// handleKey handles one key.
func (e *Editor) handleKey(k key) {
	if k.code == cursorReport {
		e.display.redraw(int(k.r))
		return
	}
	if e.search != nil && e.handleSearchKey(k) {
		return
	}
	pressed := key{code: k.code, r: lower(k), alt: k.alt}
	do, kill := keymap[pressed], killmap[pressed]
	switch {
	case do != nil:
		do(e)
	case kill != nil:
		e.kill(kill(&e.line))
	case k.code == character && !k.alt:
		e.insert(k.r)
	case k.code == pasted:
		e.insert([]rune(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(k.text))...)
	}
	e.lastKilled = kill != nil
}

// lower returns the letter of a key, which with Alt is the lower-case one.
func lower(k key) rune {
	if k.alt && 'A' <= k.r && k.r <= 'Z' {
		return k.r + 'a' - 'A'
	}
	return k.r
}

func ctrl(letter rune) key { return key{code: control, r: letter} }
func alt(letter rune) key  { return key{code: character, r: letter, alt: true} }

// keymap maps keys to actions, except those of killmap.
var keymap = map[key]func(*Editor){
	{code: enter}:            (*Editor).endOrContinue,
	{code: enter, alt: true}: func(e *Editor) { e.insert('\n') },
	ctrl('c'):                func(e *Editor) { e.finish(ErrInterrupted, "^C") },
	ctrl('d'):                (*Editor).deleteOrEnd,
	{code: del}:              func(e *Editor) { e.remove(e.after()) },
	{code: backspace}:        func(e *Editor) { e.remove(e.before()) },
	{code: left}:             func(e *Editor) { e.pos = e.before() },
	ctrl('b'):                func(e *Editor) { e.pos = e.before() },
	{code: right}:            func(e *Editor) { e.pos = e.after() },
	ctrl('f'):                func(e *Editor) { e.pos = e.after() },
	{code: wordLeft}:         func(e *Editor) { e.pos = e.wordStart(alphanumeric) },
	alt('b'):                 func(e *Editor) { e.pos = e.wordStart(alphanumeric) },
	{code: wordRight}:        func(e *Editor) { e.pos = e.wordEnd(alphanumeric) },
	alt('f'):                 func(e *Editor) { e.pos = e.wordEnd(alphanumeric) },
	{code: home}:             func(e *Editor) { e.pos = 0 },
	ctrl('a'):                func(e *Editor) { e.pos = 0 },
	{code: end}:              func(e *Editor) { e.pos = len(e.text) },
	ctrl('e'):                func(e *Editor) { e.pos = len(e.text) },
	ctrl('t'):                func(e *Editor) { e.transpose() },
	ctrl('y'):                func(e *Editor) { e.insert(e.killBuffer...) },
	ctrl('l'):                func(e *Editor) { e.display.clear() },
	{code: up}:               func(e *Editor) { e.recall(e.at - 1) },
	ctrl('p'):                func(e *Editor) { e.recall(e.at - 1) },
	{code: down}:             func(e *Editor) { e.recall(e.at + 1) },
	ctrl('n'):                func(e *Editor) { e.recall(e.at + 1) },
	ctrl('r'):                (*Editor).startSearch,
	{code: tab}:              (*Editor).completion,
	{code: pasteStart}:       func(e *Editor) { e.pasteFrom = e.pos },
	{code: pasteEnd}:         (*Editor).endPaste,
}

// killmap maps keys that delete text, which Ctrl-Y inserts again, to the other end of that text.
var killmap = map[key]func(*line) (to int){
	ctrl('k'):                    func(l *line) int { return len(l.text) },
	ctrl('u'):                    func(*line) int { return 0 },
	ctrl('w'):                    func(l *line) int { return l.wordStart(notBlank) },
	{code: backspace, alt: true}: func(l *line) int { return l.wordStart(alphanumeric) },
	alt('d'):                     func(l *line) int { return l.wordEnd(alphanumeric) },
	{code: wordDelete}:           func(l *line) int { return l.wordEnd(alphanumeric) },
}

// kill deletes the text between the cursor and a position, and keeps it for Ctrl-Y. Texts that are
// killed by successive keys are joined.
func (e *Editor) kill(to int) {
	backward := to < e.pos
	removed := e.remove(to)
	switch {
	case !e.lastKilled && len(removed) > 0:
		e.killBuffer = removed
	case backward:
		e.killBuffer = append(removed, e.killBuffer...)
	default:
		e.killBuffer = append(slices.Clip(e.killBuffer), removed...)
	}
}

// endOrContinue ends the line, or begins a new row at its end if it is incomplete.
func (e *Editor) endOrContinue() {
	text := string(e.text)
	lastRow := text[strings.LastIndexByte(text, '\n')+1:]
	if e.incomplete == nil || strings.TrimSpace(lastRow) == "" || !e.incomplete(text) {
		e.finish(nil, "")
		return
	}
	e.pos = len(e.text)
	if !e.insert('\n') {
		e.finish(nil, "")
	}
}

func (e *Editor) deleteOrEnd() {
	if len(e.text) == 0 {
		e.finish(io.EOF, "")
		return
	}
	e.remove(e.after())
}

// endPaste removes line ends at the end of the pasted text. They are often copied with a line, and
// the user still presses Enter.
func (e *Editor) endPaste() {
	for e.pos > e.pasteFrom && e.text[e.pos-1] == '\n' {
		e.remove(e.pos - 1)
	}
}

// recall shows a line of the history, or, for the index after its last line, the user's draft.
func (e *Editor) recall(at int) {
	lines := e.history.lines
	if at < 0 || at > len(lines) {
		return
	}
	if e.at == len(lines) {
		e.draft = string(e.text)
	}
	e.at = at
	if at == len(lines) {
		e.set(e.draft)
	} else {
		e.set(lines[at])
	}
}
