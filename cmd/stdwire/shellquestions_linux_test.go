package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// In the shell a destructive call is confirmed, in both eras: "y" is the answer, and no command
// line.
func TestShellConfirms(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "a")
		assert.NilError(t, os.WriteFile(file, nil, 0o600))
		s := newSeat(t, "shell", "--write", "--root", dir, "--era", era)
		const ready, question = "built-in> ", "[y/n] "
		s.sees(ready)
		s.types("fs_delete path=a\r")
		s.sees("built-in asks:\r\n  ")
		s.sees(question)
		s.types("n\r")
		s.sees("Declined.\r\n")
		s.sees(ready)
		_, err := os.Stat(file)
		assert.NilError(t, err)

		s.types("fs_delete path=a\r")
		s.sees(question)
		s.types("y\r")
		s.sees("path:  a\r\n")
		s.sees(ready)
		_, err = os.Stat(file)
		assert.Assert(t, os.IsNotExist(err))
		s.types("fs_list\r") // the line after it is a command line again
		s.sees("entries:")
		s.sees(ready)
		s.types("\x04")
		assert.Equal(t, s.ends(), 0)
	}
}

func TestShellAsksForAForm(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		s := newSeat(t, words("shell --era "+era, fixture("forms")...)...)
		s.sees(ready)
		s.types("order\r")
		s.sees(self + " asks:\r\n  What shall it be?\r\n")
		for _, step := range [][2]string{
			{"name (string, minLength 2, required)\r\n", "A\r"},
			// keys edit here, too
			{"Once more, please: must have at least 2 characters, has 1.\r\n", "Ax\x7fnn\r"},
			// Up: a command line is no answer
			{"count (integer, optional)\r\n", "\x1b[A\r"},
			{"color (one of these, optional)\r\n   1  red\r\n   2  green\r\n", "2\r"},
			{"gift (yes or no, optional)\r\n", "\t\r"}, // there is nothing to complete
			{"  name: Ann\r\n  count: 7\r\n  color: green\r\n  gift: left out\r\n", "y\r"},
		} {
			s.sees(step[0])
			s.sees(pasteMarks) // it is being read
			s.types(step[1])
		}
		s.sees(`accept {"name":"Ann","count":7,"color":"green"}` + "\r\n")
		s.sees(ready)
		s.types("\x1b[A") // answers are no command lines
		s.sees(ready + "order")
		s.types("\x15\x04")
		assert.Equal(t, s.ends(), 0)
	}
}

func TestShellRefusesSampling(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		s := newSeat(t, words("shell --era "+era, fixture("forms")...)...)
		s.sees(ready)
		printed := s.Line("write")
		assert.Assert(t, strings.HasPrefix(printed, "stdwire: "+self+": write: ") &&
			strings.Contains(printed, "sampling"), printed)
		assert.Assert(t, strings.Contains(s.Line(".info"), "forms"), "the server lives")
		s.types("\x04")
		assert.Equal(t, s.ends(), 0)
	}
}

// Ctrl-C at a question cancels the call that it belongs to, and leaves nobody behind who takes what
// is typed next.
func TestShellQuestionIsInterrupted(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		s := newSeat(t, words("shell --era "+era, fixture("forms")...)...)
		s.sees(ready)
		for range 2 {
			s.types("order\r")
			s.sees("> ")
			s.sees(pasteMarks)
			s.types("An\x03")
			s.sees("^C\r\n")
			s.sees("stdwire: " + self + ": order: cancelled\r\n")
			s.sees(ready)
		}
		s.types("order\r")
		s.sees("required)")
		s.sees(pasteMarks)
		s.types(".decline\r")
		s.sees("decline ")
		s.sees(ready)
		s.types("\x04")
		assert.Equal(t, s.ends(), 0)
	}
}

// A question that nobody's call is about comes between: what is half typed neither answers it nor
// is lost.
func TestShellQuestionInTheMiddleOfALine(t *testing.T) {
	notes := newNotes(t)
	cues := filepath.Join(t.TempDir(), "cues")
	assert.NilError(t, syscall.Mkfifo(cues, 0o600))
	cue, err := os.OpenFile(cues, os.O_RDWR, 0)
	assert.NilError(t, err)
	defer cue.Close()
	s := newSeat(t, words("shell", fixture("rich", notes.path, cues)...)...)
	s.sees(ready)
	for _, tt := range []struct{ typed, want string }{{"y\r", "accept\n"}, {"\x03", "cancel\n"},
		{"n\r", "decline\n"}, {"\x04", "cancel\n"}} {
		assert.Equal(t, s.Line("later"), "soon\n")
		s.types("paint bol=true\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D")
		s.sees(ready + "paint bol=true")
		_, err = cue.WriteString("ask\n")
		assert.NilError(t, err)
		s.sees(clean + "\x1b[?2004l" + self + " asks:\r\n  Delete all?\r\n")
		s.sees("Do you agree? [y/n] ")
		s.types(tt.typed)
		assert.Equal(t, notes.Line(t), tt.want)
		s.sees(ready + "paint bol=true")
		s.types("d\r") // the cursor is where it was
		s.sees(`{"bold":true}` + "\r\n")
		s.sees(ready)
	}
	s.types("\x04")
	assert.Equal(t, s.ends(), 0)
}

// A terminal that can do nothing but show lines is shown lines, and no sequence for it to do
// something.
func TestDumbTerminal(t *testing.T) {
	s := newSeatAt(t, "dumb", words("call slow ms=1", fixture("good")...)...)
	before := s.sees("100% step\r\n")
	before += s.sees("done\r\n")
	assert.Equal(t, s.ends(), 0)
	assert.Assert(t, !strings.Contains(before, "\x1b"), "%q", before)

	s = newSeatAt(t, "dumb", words("shell", fixture("forms")...)...)
	before = s.sees("> ")
	s.types("order\n")
	before += s.sees("required)\r\n> ")
	s.types("Ann\n")
	before += s.sees("optional)\r\n")
	s.types(".decline\n")
	before += s.sees("decline ")
	before += s.sees("> ")
	s.types("\x04")
	assert.Equal(t, s.ends(), 0)
	assert.Assert(t, !strings.Contains(before, "\x1b"), "%q", before)
}
