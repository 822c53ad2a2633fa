package tapcmd

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/terminal"
)

// tapLines formats a record as text, with a line for each message:
//
//	→    0.120 #2 tools/call fs_read 123 B
//	←    0.126 #2 tools/call fs_read 6.41 ms 4.1 kB
//	←    0.131 notifications/progress 80 B
//	← !  0.140 #3 tools/call fs_raed 0.52 ms 110 B error -32602: Unknown tool
//	← ?    0.148 #"4" tools/call fs_read 6.41 ms for #4, whose id it has in another notation 4.1 kB
//	← ?  0.151 no message 21 B: Starting the server…
func tapLines(r *tap.Record) []string {
	switch r.Type {
	case tap.Start:
		return nil
	case tap.Dropped:
		return []string{
			fmt.Sprintf("-- %d frames are missing: too many arrived at a time", r.Lost)}
	case tap.Full:
		return []string{"-- the recording has reached its maximum size; later frames are missing"}
	case tap.End:
		return []string{
			fmt.Sprintf("-- ended after %.3f s with exit status %d", r.Seconds, r.Status)}
	case tap.Junk:
		return []string{tapLine(r, r.Message, r.Payload())}
	}
	messages, texts := r.All()
	var lines []string
	for i, m := range messages {
		lines = append(lines, tapLine(r, m, texts[i]))
	}
	return lines
}

// tapLine formats one message. text may be nil.
func tapLine(r *tap.Record, m tap.Message, text []byte) string {
	mark, trouble := " ", ""
	words := []string{m.Method, m.Subject}
	if m.ID != nil {
		words = append([]string{"#" + printable.TruncateRunes(string(m.ID), 40)}, words...)
	}
	switch {
	case m.Type == tap.Junk:
		mark, trouble, words = "?", excerpt(text), []string{"no message"}
	case m.Type == tap.Response && m.RequestFrame == 0:
		mark, words = "?", append(words, "answers nothing")
	case m.Type == tap.Response:
		words = append(words, fmt.Sprintf("%.2f ms", m.Ms))
	}
	if m.RequestID != nil {
		mark, words = "?", append(words, fmt.Sprintf("for #%s, whose id it has in another notation",
			m.RequestID))
	}
	if m.Failed != "" {
		mark, trouble = "!", errorText(text)
		words = append(words, command.Size(int(m.Size)), m.Failed)
	} else {
		words = append(words, command.Size(int(m.Size)))
	}
	if r.SHA256 != "" {
		words = append(words, "(cut)")
	}
	if r.Partial {
		words = append(words, "(unfinished)")
	}
	line := strings.Join(words, " ")
	if trouble != "" {
		line += ": " + trouble
	}
	return fmt.Sprintf("%s %s%9.3f %s", arrowOf(r.From), mark, r.Seconds, printable.Line(line))
}

// styleOf returns the style of a line of tapLines.
func styleOf(line string) terminal.Style {
	switch _, rest, _ := strings.Cut(line, " "); {
	case strings.HasPrefix(rest, "!"):
		return terminal.Red
	case strings.HasPrefix(rest, "?"):
		return terminal.Yellow
	case strings.HasPrefix(line, "--"):
		return terminal.Faint
	}
	return terminal.Plain
}

// excerpt returns the beginning of a text.
func excerpt(text []byte) string {
	const most = 200
	return string(text[:min(len(text), most)])
}

// errorText returns the error of a response.
func errorText(text []byte) string {
	said := jsonscan.Member(jsonscan.Member(text, "error"), "message")
	for block := range jsonscan.Elements(
		jsonscan.Member(jsonscan.Member(text, "result"), "content")) {
		if said == nil {
			said = jsonscan.Member(block, "text")
		}
	}
	message, _ := jsonscan.Unquote(said)
	return excerpt(message)
}
