package scan

import (
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/lazyregexp"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A definition is a tool, prompt, resource, template or skill of a server, a file of a skill, or
// the server's handshake, with its strings.
type definition struct {
	server  *scannedServer
	kind    mcp.Kind
	name    string // "" for one without
	raw     []byte // nil if it is not a JSON object, or a file
	problem string // why it is malformed or ambiguous; "" if it is not
	texts   []text // in the order of the definition

	arguments map[string]bool // names of arguments, in lower case
}

// A text is a string of a definition.
type text struct {
	where  string
	key    bool   // a member's name, not a value
	s      string // unchanged
	plain  string // as a model reads it: see normalize
	lower  string // plain in lower case
	member string // name of the member with this value, or with the array of it
}

func (d *definition) place(where string) Place {
	return Place{d.server.ID, d.kind.Info().Short, d.name, where}
}

// newDefinition parses a definition and collects its strings.
func (s *scannedServer) newDefinition(kind mcp.Kind, raw []byte) *definition {
	d := &definition{server: s, kind: kind, arguments: map[string]bool{}}
	if err := jsonscan.Valid(raw); err != nil {
		d.problem = "is not JSON: " + err.Error()
		return d
	}
	raw = raw[jsonscan.Space(raw, 0):]
	if raw[0] != '{' {
		d.problem = "is not a JSON object"
		return d
	}
	d.raw = raw
	if kind != kindServer {
		member := nameMember(kind)
		d.name, _ = jsonscan.Text(jsonscan.Member(raw, member))
		if d.name == "" {
			d.problem = "has no " + member
		}
	}
	d.walk(raw, "", "")
	return d
}

// nameMember returns the member of a definition that has the name in findings. It is what people
// see, and for resources not what identifies them.
func nameMember(kind mcp.Kind) string {
	if kind == mcp.KindSkill {
		return "uri"
	}
	return "name"
}

// walk collects the strings of a value.
func (d *definition) walk(value []byte, where, member string) {
	switch value[0] {
	case '"':
		s, _ := jsonscan.Text(value)
		d.addText(text{where: where, s: s, member: member})
	case '[':
		i := 0
		for element := range jsonscan.Elements(value) {
			d.walk(element, where+"["+strconv.Itoa(i)+"]", member)
			i++
		}
	case '{':
		seen := map[string]bool{}
		for name, value := range jsonscan.Named(value) {
			path := join(where, name)
			if seen[name] && d.problem == "" {
				d.problem = "has " + path + " twice, and programs differ in which of them they read"
			}
			seen[name] = true
			if member == "properties" && len(d.arguments) < maxStrings {
				d.arguments[strings.ToLower(printable.TruncateBytes(name, maxName))] = true
			}
			if !wordPattern().MatchString(name) {
				d.addText(text{where: path, s: name, key: true, member: member})
			}
			if len(path) > maxPath {
				d.server.skipped(d.kind, d.name, "",
					"it is nested so deep that not all of it is scanned")
				continue
			}
			d.walk(value, path, name)
		}
	}
}

const (
	maxPath   = 2 << 10
	maxMember = 100 // bytes of a name in a path
	overhead  = 32  // bytes counted for a text in addition to itself and its path
)

// wordPattern matches member names that are not checked as text.
var wordPattern = lazyregexp.New(`^[A-Za-z0-9_$./-]{1,64}$`)

// addText adds a text, within the limits.
func (d *definition) addText(t text) {
	switch {
	case len(d.texts) == maxStrings:
		d.server.skipped(d.kind, d.name, "",
			"it has more than 2,000 strings; the others are not scanned")
		return
	case d.server.text == 0:
		d.server.skipped(kindServer, "", "",
			"the server has more text than is scanned: 4 MiB, member names included")
		return
	}
	if len(t.s) > maxText {
		d.server.skipped(d.kind, d.name, t.where,
			"the text is longer than 16 KiB; the rest is not scanned")
	}
	t.s = strings.ToValidUTF8(t.s[:min(len(t.s), maxText)], "")
	size := len(t.s) + len(t.where) + overhead
	if size > d.server.text {
		d.server.text = 0
		d.addText(t)
		return
	}
	d.server.text -= size
	t.read()
	d.texts = append(d.texts, t)
}

// read sets plain and lower.
func (t *text) read() {
	t.plain = normalize(t.s)
	t.lower = strings.ToLower(t.plain)
}

// join appends a member to a path.
func join(path, name string) string {
	switch {
	case !simpleName().MatchString(name):
		return path + "[" + strconv.Quote(printable.TruncateBytes(name, maxMember)) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

var simpleName = lazyregexp.New(`^[A-Za-z_$][A-Za-z0-9_$-]{0,99}$`)

// isProse reports whether a text has more than one word.
func (t *text) isProse() bool { return strings.Contains(strings.TrimSpace(t.s), " ") }

// tool reports whether the definition is a tool with a name.
func (d *definition) tool() bool { return d.kind == mcp.KindTool && d.name != "" }

// malformedDefinition finds definitions that are malformed or ambiguous.
func malformedDefinition(_ *scanner, d *definition) []Finding {
	if d.problem == "" {
		return nil
	}
	return []Finding{{Severity: Medium, Place: d.place(""), What: "the definition " + d.problem}}
}
