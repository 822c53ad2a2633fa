// Package man writes manual pages in the language of man(7), from the same commands and topics that
// stdwire help prints. The pages are plain ASCII, and depend only on these and on the version.
package man

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/printable"
)

// A Page is one manual page.
type Page struct {
	Name    string // such as stdwire-call
	Section int
	Text    string
}

// File returns the path of the page below a directory of manual pages: man1/stdwire-call.1.
func (p Page) File() string { return fmt.Sprintf("man%d/%s.%d", p.Section, p.Name, p.Section) }

// A writer writes one page.
type writer struct{ strings.Builder }

// title begins a page.
func (w *writer) title(name string, section int, b Build, summary string) {
	sectionName := map[int]string{
		1: "User Commands", 5: "File Formats", 7: "Miscellaneous"}[section]
	fmt.Fprintf(w, ".TH %s %d \"%s\" \"stdwire %s\" \"%s\"\n", escape(strings.ToUpper(name)), section,
		b.Date, escape(b.Version), sectionName) // no program understands an escaped date
	w.request("nr", "HY", "0") // flags are not hyphenated
	w.request("ad", "l")       // nor are lines stretched
	w.request("SH", "NAME")
	w.lines(name + " - " + summary)
}

// request writes a request or macro with its arguments.
func (w *writer) request(name string, args ...string) {
	w.WriteString("." + name)
	for _, arg := range args {
		text := escape(arg)
		if arg == "" || strings.ContainsAny(arg, " \"\t") {
			text = `"` + text + `"`
		}
		w.WriteString(" " + text)
	}
	w.WriteByte('\n')
}

// lines writes text as lines of input. Lines are joined and broken anew unless they are between EX
// and EE.
func (w *writer) lines(text string) {
	for line := range strings.Lines(text) {
		line = escape(strings.TrimRight(line, " \n"))
		if strings.HasPrefix(line, ".") {
			line = `\&` + line // otherwise a request; an apostrophe is escaped anyway
		}
		w.WriteString(line + "\n")
	}
}

// escapes are the characters with a meaning of their own in roff, or that it replaces by others
// that cannot be copied to a shell.
var escapes = strings.NewReplacer(`\`, `\(rs`, `-`, `\-`, `'`, `\(aq`, "`", `\(ga`, `^`, `\(ha`,
	`~`, `\(ti`, `"`, `\(dq`)

// escape returns text as it is printed, without a line end. Characters other than those of ASCII
// become names of characters, so that no program must know the encoding.
func escape(text string) string {
	var b strings.Builder
	for _, c := range escapes.Replace(text) {
		switch {
		case c < ' ' || c == 0x7f:
			b.WriteByte(' ')
		case c < 0x7f:
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, `\[u%04X]`, c)
		}
	}
	return b.String()
}

// prose writes paragraphs. Lines that begin with two spaces are printed as they are. If headings is
// set, a line on its own that is not a sentence is a heading.
func (w *writer) prose(text string, headings bool) {
	first := true
	for paragraph := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		paragraph = strings.Trim(paragraph, "\n")
		if paragraph == "" {
			continue
		}
		if headings && isHeading(paragraph) {
			w.request("SH", strings.ToUpper(paragraph))
			first = true
			continue
		}
		if !first {
			w.request("PP")
		}
		first = false
		w.paragraph(strings.Split(paragraph, "\n"))
	}
}

func isHeading(paragraph string) bool {
	return !strings.Contains(paragraph, "\n") && len(paragraph) <= 40 &&
		'A' <= paragraph[0] && paragraph[0] <= 'Z' &&
		!strings.ContainsAny(paragraph[len(paragraph)-1:], ".:;,")
}

// paragraph writes the lines of a paragraph, of which some may be indented.
func (w *writer) paragraph(all []string) {
	for len(all) > 0 {
		indented := strings.HasPrefix(all[0], "  ")
		n := 1
		for n < len(all) && strings.HasPrefix(all[n], "  ") == indented {
			n++
		}
		if indented {
			w.verbatim(all[:n])
		} else {
			w.lines(printable.NoTerminal.Wrap(strings.Join(all[:n], " "), 0, 0))
		}
		all = all[n:]
	}
}

// verbatim writes lines that are neither joined nor broken.
func (w *writer) verbatim(lines []string) {
	w.request("RS", "2n")
	w.request("EX")
	for _, line := range lines {
		w.lines(strings.TrimPrefix(line, "  "))
	}
	w.request("EE")
	w.request("RE")
}
