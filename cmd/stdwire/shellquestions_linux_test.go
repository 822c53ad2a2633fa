package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// In the shell a destructive call is confirmed, in both eras; "y" is the answer and not a command.
func TestShellConfirms(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "a")
		assert.NilError(t, os.WriteFile(file, nil, 0o600))
		s := newSession(t, "shell", "--write", "--root", dir, "--era", era)
		const ready, question = "built-in> ", "[y/n] "
		s.expect(ready)
		s.typeText("fs_delete path=a\r")
		s.expect("built-in asks:\r\n  ")
		s.expect(question)
		s.typeText("n\r")
		s.expect("Declined.\r\n")
		s.expect(ready)
		_, err := os.Stat(file)
		assert.NilError(t, err)

		s.typeText("fs_delete path=a\r")
		s.expect(question)
		s.typeText("y\r")
		s.expect("path:  a\r\n")
		s.expect(ready)
		_, err = os.Stat(file)
		assert.Assert(t, os.IsNotExist(err))
		s.typeText("fs_list\r") // the next line is a command again
		s.expect("entries:")
		s.expect(ready)
		s.typeText("\x04")
		assert.Equal(t, s.wait(), 0)
	}
}

func TestShellAsksForAForm(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		s := newSession(t, words("shell --era "+era, fixture("forms")...)...)
		s.expect(ready)
		s.typeText("order\r")
		s.expect(self + " asks:\r\n  What shall it be?\r\n")
		for _, step := range [][2]string{
			{"name (string, minLength 2, required)\r\n", "A\r"},
			// keys edit here, too
			{"Please answer again: must have at least 2 characters, has 1.\r\n", "Ax\x7fnn\r"},
			// Up: a command line is no answer
			{"count (integer, optional)\r\n", "\x1b[A\r"},
			{"color (one of these, optional)\r\n   1  red\r\n   2  green\r\n", "2\r"},
			{"gift (yes or no, optional)\r\n", "\t\r"}, // no completion
			{"  name: Ann\r\n  count: 7\r\n  color: green\r\n  gift: left out\r\n", "y\r"},
		} {
			s.expect(step[0])
			s.expect(pasteMarks) // the editor reads
			s.typeText(step[1])
		}
		s.expect(`accept {"name":"Ann","count":7,"color":"green"}` + "\r\n")
		s.expect(ready)
		s.typeText("\x1b[A") // answers are not in the history
		s.expect(ready + "order")
		s.typeText("\x15\x04")
		assert.Equal(t, s.wait(), 0)
	}
}

// The user answers a request to a model, or declines it.
func TestShellAsksForASample(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		s := newSession(t, words("shell --era "+era, fixture("forms")...)...)
		s.expect(ready)
		s.typeText("write\r")
		asks := self + " asks a model for at most 10 tokens. You can answer in its place:\r\n" +
			"user:\r\n  Write\\u0007.\r\n"
		s.expect(asks)
		for _, line := range []string{"one\r", "two\r", "\r"} {
			s.expect(pasteMarks)
			s.typeText(line)
		}
		s.expect("human wrote: one\r\ntwo\r\n")
		s.expect(ready)
		s.typeText("write\r")
		s.expect(asks)
		s.expect(pasteMarks)
		s.typeText("\r")
		s.expect("Declined.\r\n")
		s.expect("stdwire: " + self + ": write: ")
		s.expect(ready)
		assert.Assert(t, strings.Contains(s.Line(".info"), "forms"), "the server lives")
		s.typeText("\x04")
		assert.Equal(t, s.wait(), 0)
	}
}

// Ctrl-C at a question cancels the call, and later input goes to the command line.
func TestShellQuestionIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		s := newSession(t, words("shell --era "+era, fixture("forms")...)...)
		s.expect(ready)
		for range 2 {
			s.typeText("order\r")
			s.expect("> ")
			s.expect(pasteMarks)
			s.typeText("An\x03")
			s.expect("^C\r\n")
			s.expect("stdwire: " + self + ": order: cancelled\r\n")
			s.expect(ready)
		}
		s.typeText("order\r")
		s.expect("required)")
		s.expect(pasteMarks)
		s.typeText(".decline\r")
		s.expect("decline ")
		s.expect(ready)
		s.typeText("\x04")
		assert.Equal(t, s.wait(), 0)
	}
}

// A question outside of a call interrupts typing; the typed text is kept and does not answer it.
func TestShellQuestionInTheMiddleOfALine(t *testing.T) {
	t.Parallel()
	notes := newNotes(t)
	cues := filepath.Join(t.TempDir(), "cues")
	assert.NilError(t, syscall.Mkfifo(cues, 0o600))
	cue, err := os.OpenFile(cues, os.O_RDWR, 0)
	assert.NilError(t, err)
	defer cue.Close()
	s := newSession(t, words("shell", fixture("rich", notes.path, cues)...)...)
	s.expect(ready)
	for _, tt := range []struct{ typed, want string }{{"y\r", "accept\n"}, {"\x03", "cancel\n"},
		{"n\r", "decline\n"}, {"\x04", "cancel\n"}} {
		assert.Equal(t, s.Line("later"), "soon\n")
		s.typeText("paint bol=true\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D")
		s.expect(ready + "paint bol=true")
		_, err = cue.WriteString("ask\n")
		assert.NilError(t, err)
		s.expect(clean + "\x1b[?2004l" + self + " asks:\r\n  Delete all?\r\n")
		s.expect("Do you agree? [y/n] ")
		s.typeText(tt.typed)
		assert.Equal(t, notes.Line(t), tt.want)
		s.expect(ready + "paint bol=true")
		s.typeText("d\r") // the cursor has not moved
		s.expect(`{"bold":true}` + "\r\n")
		s.expect(ready)
	}
	s.typeText("\x04")
	assert.Equal(t, s.wait(), 0)
}

// A dumb terminal gets lines and no escape sequences.
func TestDumbTerminal(t *testing.T) {
	t.Parallel()
	s := newSessionOn(t, "dumb", words("call slow ms=1", fixture("good")...)...)
	before := s.expect("100% step\r\n")
	before += s.expect("done\r\n")
	assert.Equal(t, s.wait(), 0)
	assert.Assert(t, !strings.Contains(before, "\x1b"), "%q", before)

	s = newSessionOn(t, "dumb", words("shell", fixture("forms")...)...)
	before = s.expect("> ")
	s.typeText("order\n")
	before += s.expect("required)\r\n> ")
	s.typeText("Ann\n")
	before += s.expect("optional)\r\n")
	s.typeText(".decline\n")
	before += s.expect("decline ")
	before += s.expect("> ")
	s.typeText("\x04")
	assert.Equal(t, s.wait(), 0)
	assert.Assert(t, !strings.Contains(before, "\x1b"), "%q", before)
}
