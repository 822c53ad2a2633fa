package scan

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mixedScript finds names that look like others: with letters of one script that are taken for those of another.
func mixedScript(_ *world, d *definition, t *text) (Finding, bool) {
	isName := t.where == "name" && (d.kind == KindTool || d.kind == KindPrompt)
	if simple(t.s) || !isName && !t.key {
		return Finding{}, false
	}
	for _, part := range strings.FieldsFunc(t.s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		if !looksLatin(part) {
			continue
		}
		f := Finding{Severity: High, Evidence: spelled(part)}
		if !strings.ContainsFunc(t.s, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }) {
			f.Severity = Medium // it may be a word in that script
		}
		f.What = fmt.Sprintf("the name looks like %q, and is another: it has letters that only look like those", strings.Map(latin, t.s))
		return f, true
	}
	return Finding{}, false
}

// looksLatin reports a word that is taken for one in ASCII: all of it, or in part.
func looksLatin(word string) bool {
	ascii, alike, other := 0, 0, 0
	for _, r := range word {
		switch l := latin(r); {
		case r < utf8.RuneSelf:
			ascii++
		case l < utf8.RuneSelf:
			alike++
		case !unicode.Is(unicode.Latin, r):
			other++
		}
	}
	return alike > 0 && ascii+alike > 1 && (other == 0 || ascii > 0)
}

// spelled tells which letters of a word are not ASCII.
func spelled(word string) string {
	var b strings.Builder
	for _, r := range word {
		b.WriteRune(r)
		if r >= utf8.RuneSelf {
			fmt.Fprintf(&b, "(U+%04X)", r)
		}
	}
	return b.String()
}

// A named is a tool and its name in the forms in which it is compared.
type named struct {
	d        *definition
	skeleton string // what it looks like
}

func (w *world) tools() (all []named) {
	for _, s := range w.servers {
		for _, d := range s.definitions {
			if d.tool() {
				all = append(all, named{d, skeleton(d.name)})
			}
		}
	}
	return all
}

// sameName finds tools that cannot be told apart by their names.
func sameName(w *world) (found []Finding) {
	first := map[string]*definition{}
	for _, tool := range w.tools() {
		d := tool.d
		other, taken := first[d.name]
		switch {
		case !taken:
			first[d.name] = d
			continue
		case other.server == d.server:
			found = append(found, Finding{Severity: Medium, Place: d.place("name"), What: "the server has two tools of this name: which of them is called, only it knows"})
			continue
		}
		f := Finding{Severity: Medium, Place: d.place("name"), Related: []Place{other.place("name")}}
		f.What = fmt.Sprintf("the server %q has a tool of the same name: a model may call the one when the other is meant", other.server.ID)
		if string(d.raw) == string(other.raw) {
			f.Severity = Low
			f.What = fmt.Sprintf("the server %q has the same tool: which of them is called is left to chance", other.server.ID)
		}
		found = append(found, f)
	}
	return found
}

// nearName finds tools of different servers whose names are taken for each other.
func nearName(w *world) (found []Finding) {
	const shortest, longest = 6, 128 // of names of which one letter may be another by mistake
	alike, variants := map[string]*definition{}, map[string]*definition{}
	for _, tool := range w.tools() {
		d := tool.d
		if len(tool.skeleton) < 3 || len(d.name) > longest {
			continue
		}
		other := alike[tool.skeleton]
		f := Finding{Severity: Medium, Place: d.place("name"), What: "looks like"}
		switch {
		case other == nil:
			alike[tool.skeleton] = d
		case other.server == d.server || other.name == d.name:
			other = nil
		case strings.EqualFold(separators.Replace(other.name), separators.Replace(d.name)):
			f.Severity = Low
		case !simple(d.name) || !simple(other.name):
			f.Severity = High
		}
		if other == nil && len(tool.skeleton) >= shortest {
			f.Severity, f.What = Low, "is one letter away from"
			for variant := range without(tool.skeleton) {
				switch v := variants[variant]; {
				case v == nil:
					variants[variant] = d
				case v.server != d.server && v.name != d.name && oneApart(skeleton(v.name), tool.skeleton):
					other = v
				}
			}
		}
		if other != nil {
			f.What = fmt.Sprintf("the name %s %q of the server %q: one may be taken for the other", f.What, other.name, other.server.ID)
			f.Related = []Place{other.place("name")}
			found = append(found, f)
		}
	}
	return found
}

var separators = strings.NewReplacer("_", "", "-", "", ".", "")

// skeleton is what a name looks like: two names with the same one are easily taken for each other.
func skeleton(name string) string {
	return strings.Map(func(r rune) rune {
		if classOf(r) != seen {
			return -1
		}
		switch r = latin(r); r {
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

// without yields a word, and it without each of its bytes: words that are one insertion, removal, replacement or swap of neighbours apart have one of these in common.
func without(word string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if !yield(word) {
			return
		}
		for i := range len(word) {
			if i > 0 && word[i] == word[i-1] {
				continue // the same again
			}
			if !yield(word[:i] + word[i+1:]) {
				return
			}
		}
	}
}

// oneApart reports words of which one insertion, removal, replacement or swap of neighbours makes the one of the other.
func oneApart(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a != b && (len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0])
}
