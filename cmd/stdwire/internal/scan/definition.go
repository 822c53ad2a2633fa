package scan

import (
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

// A definition is one thing that a server offers, taken apart.
type definition struct {
	server *subject
	kind   Kind
	name   string // "" for one without
	raw    []byte // nil if it is no JSON object
	wrong  string // why it is none, or not one that all read alike; "" if it is
	texts  []text // in the order of the definition

	arguments map[string]bool // names of members of schemas, in lower case
}

// A text is a string of a definition.
type text struct {
	where  string
	key    bool   // it is the name of a member
	s      string // as it is
	plain  string // as it is read: see plainly
	lower  string // the same in lower case
	member string // whose value it is, or of which it is an element
}

func (d *definition) place(where string) Place { return Place{d.server.ID, d.kind, d.name, where} }

// define takes a definition apart.
func (s *subject) define(kind Kind, raw []byte) *definition {
	d := &definition{server: s, kind: kind, arguments: map[string]bool{}}
	if err := jsonscan.Valid(raw); err != nil {
		d.wrong = "is no JSON: " + err.Error()
		return d
	}
	raw = raw[jsonscan.Space(raw, 0):]
	if raw[0] != '{' {
		d.wrong = "is no JSON object"
		return d
	}
	d.raw = raw
	if kind != KindServer {
		d.name, _ = jsonscan.Text(jsonscan.Member(raw, "name"))
		if d.name == "" {
			d.wrong = "has no name"
		}
	}
	d.walk(raw, "", "")
	return d
}

// walk collects the strings of a value.
func (d *definition) walk(value []byte, where, member string) {
	switch value[0] {
	case '"':
		s, _ := jsonscan.Text(value)
		d.take(text{where: where, s: s, member: member})
	case '[':
		i := 0
		for element := range jsonscan.Elements(value) {
			d.walk(element, where+"["+strconv.Itoa(i)+"]", member)
			i++
		}
	case '{':
		seen := map[string]bool{}
		for token, value := range jsonscan.Members(value) {
			name, _ := jsonscan.Text(token)
			path := join(where, name)
			if seen[name] && d.wrong == "" {
				d.wrong = "has " + path + " twice, and programs differ in which of them they read"
			}
			seen[name] = true
			if member == "properties" && len(d.arguments) < maxStrings {
				d.arguments[strings.ToLower(printable.TruncateBytes(name, maxName))] = true
			}
			if !wordPattern().MatchString(name) {
				d.take(text{where: path, s: name, key: true, member: member})
			}
			if len(path) > maxPath {
				d.server.skipped(d.kind, d.name, "", "it is nested so deep that not all of it is looked at")
				continue
			}
			d.walk(value, path, name)
		}
	}
}

const (
	maxPath   = 2 << 10
	maxMember = 100 // bytes of a name in a path
	overhead  = 32  // bytes that a text counts beside itself and its path
)

// wordPattern matches names of members that say nothing.
var wordPattern = lazy(`^[A-Za-z0-9_$./-]{1,64}$`)

// take adds a text, as far as it is to be looked at.
func (d *definition) take(t text) {
	switch {
	case len(d.texts) == maxStrings:
		d.server.skipped(d.kind, d.name, "", "it has more than 2,000 strings; the others are not looked at")
		return
	case d.server.text == 0:
		d.server.skipped(KindServer, "", "", "the server has more text than is looked at, 4 MiB with the names that lead to it")
		return
	}
	if len(t.s) > maxText {
		d.server.skipped(d.kind, d.name, t.where, "the text is longer than 16 KiB; the rest is not looked at")
	}
	t.s = strings.ToValidUTF8(t.s[:min(len(t.s), maxText)], "")
	size := len(t.s) + len(t.where) + overhead
	if size > d.server.text {
		d.server.text = 0
		d.take(t)
		return
	}
	d.server.text -= size
	t.read()
	d.texts = append(d.texts, t)
}

// read fills in how a text is read.
func (t *text) read() {
	t.plain = plainly(t.s)
	t.lower = strings.ToLower(t.plain)
}

// join adds a member to a path.
func join(path, name string) string {
	switch {
	case !simpleName().MatchString(name):
		return path + "[" + strconv.Quote(printable.TruncateBytes(name, maxMember)) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

var simpleName = lazy(`^[A-Za-z_$][A-Za-z0-9_$-]{0,99}$`)

// prose reports whether a text is more than a word.
func (t *text) prose() bool { return strings.Contains(strings.TrimSpace(t.s), " ") }

// tool reports a tool that has a name.
func (d *definition) tool() bool { return d.kind == KindTool && d.name != "" }

// malformed finds definitions that are none, or that are read in different ways.
func malformed(_ *world, d *definition) []Finding {
	if d.wrong == "" {
		return nil
	}
	return []Finding{{Severity: Medium, Place: d.place(""), What: "the definition " + d.wrong}}
}
