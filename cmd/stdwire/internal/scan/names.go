package scan

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// mixedScript finds names in which letters of one script look like those of another.
func mixedScript(_ *scanner, d *definition, t *text) (Finding, bool) {
	isName := t.where == "name" && (d.kind == mcp.KindTool || d.kind == mcp.KindPrompt)
	if isPlainASCII(t.s) || !isName && !t.key {
		return Finding{}, false
	}
	for _, word := range strings.FieldsFunc(t.s,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		if !printable.LooksLatin(word) {
			continue
		}
		f := Finding{Severity: High, Evidence: spellOut(word)}
		if !strings.ContainsFunc(t.s,
			func(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }) {
			f.Severity = Medium // it may be a word in that script
		}
		f.What = fmt.Sprintf(
			"the name looks like %q, but has letters of another script",
			strings.Map(printable.ToLatin, t.s))
		return f, true
	}
	return Finding{}, false
}

// spellOut returns a word with the code points of letters that are not ASCII.
func spellOut(word string) string {
	var b strings.Builder
	for _, r := range word {
		b.WriteRune(r)
		if r >= utf8.RuneSelf {
			fmt.Fprintf(&b, "(U+%04X)", r)
		}
	}
	return b.String()
}

// A namedTool is a tool with the skeleton of its name.
type namedTool struct {
	d        *definition
	skeleton string // see skeleton
}

func (sc *scanner) tools() (all []namedTool) {
	for _, s := range sc.servers {
		for _, d := range s.definitions {
			if d.tool() {
				all = append(all, namedTool{d, skeleton(d.name)})
			}
		}
	}
	return all
}

// sameName finds tools with equal names.
func sameName(sc *scanner) (found []Finding) {
	first := map[string]*definition{}
	for _, tool := range sc.tools() {
		d := tool.d
		other, taken := first[d.name]
		switch {
		case !taken:
			first[d.name] = d
			continue
		case other.server == d.server:
			found = append(found,
				Finding{Severity: Medium, Place: d.place("name"),
					What: "the server has two tools of this name: only the server decides which of them is called"})
			continue
		}
		f := Finding{Severity: Medium, Place: d.place("name"),
			Related: []Place{other.place("name")}}
		f.What = fmt.Sprintf(
			"the server %q has a tool of the same name: a model may call the wrong one",
			other.server.ID)
		if string(d.raw) == string(other.raw) {
			f.Severity = Low
			f.What = fmt.Sprintf(
				"the server %q has the same tool: which of them is called is left to chance",
				other.server.ID)
		}
		found = append(found, f)
	}
	return found
}

// nearName finds tools of different servers with similar names.
func nearName(sc *scanner) (found []Finding) {
	const shortest, longest = 6, 128 // lengths of names in which one letter may differ by mistake
	bySkeleton, byVariant := map[string]*definition{}, map[string]*definition{}
	for _, tool := range sc.tools() {
		d := tool.d
		if len(tool.skeleton) < 3 || len(d.name) > longest {
			continue
		}
		other := bySkeleton[tool.skeleton]
		f := Finding{Severity: Medium, Place: d.place("name"), What: "looks like"}
		switch {
		case other == nil:
			bySkeleton[tool.skeleton] = d
		case other.server == d.server || other.name == d.name:
			other = nil
		case strings.EqualFold(separators.Replace(other.name), separators.Replace(d.name)):
			f.Severity = Low
		case !isPlainASCII(d.name) || !isPlainASCII(other.name):
			f.Severity = High
		}
		if other == nil && len(tool.skeleton) >= shortest {
			f.Severity, f.What = Low, "is one letter away from"
			for variant := range deletions(tool.skeleton) {
				switch v := byVariant[variant]; {
				case v == nil:
					byVariant[variant] = d
				case v.server != d.server && v.name != d.name &&
					isOneEditApart(skeleton(v.name), tool.skeleton):
					other = v
				}
			}
		}
		if other != nil {
			f.What = fmt.Sprintf("the name %s %q of the server %q: one may be taken for the other",
				f.What, other.name, other.server.ID)
			f.Related = []Place{other.place("name")}
			found = append(found, f)
		}
	}
	return found
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "")

// skeleton reduces a name to its appearance. Names with the same skeleton are easily confused.
func skeleton(name string) string {
	return strings.Map(func(r rune) rune {
		if classOf(r) != visible {
			return -1
		}
		switch r = printable.ToLatin(r); r {
		case '_', '-', '.', ' ':
			return -1
		case '0':
			return 'o'
		case '1', 'I', '|':
			return 'l'
		}
		return unicode.ToLower(r)
	}, name)
}

// deletions yields a word, and the word without each of its bytes. Words that are one insertion,
// removal, replacement or swap of neighbours apart have one of these in common.
func deletions(word string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if !yield(word) {
			return
		}
		for i := range len(word) {
			if i > 0 && word[i] == word[i-1] {
				continue // the same deletion
			}
			if !yield(word[:i] + word[i+1:]) {
				return
			}
		}
	}
}

// isOneEditApart reports whether one insertion, removal, replacement or swap of neighbours turns a
// into b.
func isOneEditApart(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a != b &&
		(len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0])
}
