package appfile

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/jsonedit"
)

// A Change is a change of a file. Before and After are secret: see [Change.Diff].
type Change struct {
	Before, After []byte   // equal if there is nothing to change
	Notes         []string // on members that are written differently from the given definition
	File          string
	edits         []jsonedit.Edit // of Before
	keys          []string        // the path to one of the servers
}

// Changed reports whether Before and After differ.
func (c *Change) Changed() bool { return !bytes.Equal(c.Before, c.After) }

// Diff returns the removed and added lines. Values that may be secret, such as those of environment
// variables and headers, are shown as "…". It returns "" if nothing changes.
func (c *Change) Diff() string {
	if !c.Changed() {
		return ""
	}
	before, after := maskSecrets(c.File, c.Before, c.keys), maskSecrets(c.File, c.After, c.keys)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", c.File)
	shift := 0 // from an offset in Before to one in After
	for _, e := range c.edits {
		removed := before[e.Start:e.End]
		added := after[e.Start+shift : e.Start+shift+len(e.Text)]
		shift += len(e.Text) - len(removed)
		if string(added) == "," || string(removed) == "," {
			continue // of the neighbour
		}
		line := 1 + bytes.Count(c.Before[:e.Start], []byte("\n"))
		if bytes.HasPrefix(added, []byte("\n")) || bytes.HasPrefix(added, []byte("\r\n")) ||
			bytes.HasPrefix(removed, []byte("\n")) || bytes.HasPrefix(removed, []byte("\r\n")) {
			line++
		}
		fmt.Fprintf(&b, "@@ line %d @@\n", line)
		from := b.Len()
		appendLines(&b, "-", removed)
		middle := b.Len()
		appendLines(&b, "+", added)
		b.WriteString(invisibleChange(b.String()[from:middle], b.String()[middle:]))
	}
	return b.String()
}

// invisibleChange returns a line that says so if the removed and the added lines look equal.
func invisibleChange(removed, added string) string {
	look := func(lines, sign string) string {
		var b strings.Builder
		for line := range strings.Lines(lines) {
			b.WriteString(strings.Join(strings.Fields(strings.TrimPrefix(line, sign)), " ") + "\n")
		}
		return b.String()
	}
	if removed == "" || look(removed, "-") != look(added, "+") {
		return ""
	}
	return "~ these lines differ in values that are not shown, or in white space\n"
}

// appendLines appends the lines of a text that are not blank.
func appendLines(b *strings.Builder, sign string, text []byte) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, " \t\r\n")
		if len(line) == 0 {
			continue
		}
		b.WriteString(sign)
		for len(line) > 0 {
			visible, rest, _ := bytes.Cut(line, []byte{hidden})
			b.Write(visible)
			if len(visible) < len(line) {
				b.WriteString(`"…"`)
			}
			line = bytes.TrimLeft(rest, string(rune(hidden)))
		}
		b.WriteByte('\n')
	}
}

// hidden takes the place of each byte of a secret. It is not valid in a file.
const hidden = 0

// maskSecrets returns a valid file with secrets hidden. keys lead to one of its servers.
func maskSecrets(path string, data []byte, keys []string) []byte {
	out := bytes.Clone(data)
	t, err := parseText(path, data)
	if err != nil {
		return bytes.Repeat([]byte{hidden}, len(data))
	}
	servers, _ := t.Root()
	for _, key := range keys[:len(keys)-1] {
		servers, _ = servers.Member(key)
	}
	for _, server := range servers.Members() {
		for _, v := range secretValues(server.Value) {
			start, end := v.FileRange()
			for i := start; i < end; i++ {
				if out[i] != '\n' && out[i] != '\r' {
					out[i] = hidden
				}
			}
		}
	}
	return out
}

// secretValues returns the values within a definition that may be secret.
func secretValues(definition jsonedit.Value) (all []jsonedit.Value) {
	for _, r := range config.SecretRanges(definition.JSON()) {
		all = append(all, jsonedit.Value{Text: definition.Text, Start: definition.Start + r[0],
			End: definition.Start + r[1]})
	}
	return all
}
