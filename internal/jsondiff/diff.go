// Package jsondiff compares JSON texts in canonical form.
package jsondiff

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

// A Change is one difference between two texts.
type Change struct {
	Path     string // where it is: "inputSchema.properties.path.description"
	Old, New string // canonical JSON; "" if absent
}

const maxChanges = 100 // further changes are reported as one of the whole text

// String returns the change on one printable line, with each span in which the texts differ and,
// of long texts, a little of what surrounds it; … stands for other parts that are equal. Two
// texts that differ are never shown as texts that look equal: invisible characters are spelled
// out and, where the texts would look alike, so is everything that could be mistaken.
func (c Change) String() string { return c.Short(0) }

// Short is like String, but shows at most n characters of each text and says how many follow. n
// should be at least 200; 0 is no limit.
func (c Change) Short(n int) string {
	path := printable.ExactName(c.Path, n)
	switch {
	case c.Old == "":
		return fmt.Sprintf("+ %s: %s", path, printable.Exact(c.New, n))
	case c.New == "":
		return fmt.Sprintf("- %s: %s", path, printable.Exact(c.Old, n))
	}
	old, now := printable.Difference(c.Old, c.New, n)
	return fmt.Sprintf("~ %s: %s → %s", path, old, now)
}

// Compare is Diff for texts in any form. Texts that have no canonical form, because a name occurs
// twice or they are nested too deep, are compared as they are, as a whole.
func Compare(old, now []byte, ignore ...string) []Change {
	a, errA := Canonical(old)
	b, errB := Canonical(now)
	switch {
	case errA == nil && errB == nil:
		return Diff(a, b, ignore...)
	case string(old) == string(now):
		return nil
	}
	return []Change{{Old: string(old), New: string(now)}}
}

// Diff returns the differences between two JSON texts in canonical form, sorted by path. It ignores
// members of the given names at any depth. After 100 changes it adds one of the whole text and
// stops.
func Diff(old, now []byte, ignore ...string) []Change {
	d := differ{ignore: ignore}
	d.diff("", old, now)
	if len(d.changes) > maxChanges {
		return append(d.changes[:maxChanges],
			Change{Path: "(and more)", Old: string(old), New: string(now)})
	}
	return d.changes
}

type differ struct {
	ignore  []string
	changes []Change
}

func (d *differ) diff(path string, old, now []byte) {
	switch {
	case string(old) == string(now) || len(d.changes) > maxChanges:
		return
	case len(old) > 0 && len(now) > 0 && old[0] == '{' && now[0] == '{':
		d.objects(path, old, now)
		return
	case len(old) > 0 && len(now) > 0 && old[0] == '[' && now[0] == '[':
		d.arrays(path, old, now)
		return
	}
	d.changes = append(d.changes, Change{path, string(old), string(now)})
}

// objects compares the members of two objects, which are sorted.
func (d *differ) objects(path string, old, now []byte) {
	a, _ := members(nil, old)
	b, _ := members(nil, now)
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && bytes.Compare(a[0].name, b[0].name) < 0:
			d.member(path, string(a[0].name), a[0].value, nil)
			a = a[1:]
		case len(a) == 0 || bytes.Compare(b[0].name, a[0].name) < 0:
			d.member(path, string(b[0].name), nil, b[0].value)
			b = b[1:]
		default:
			d.member(path, string(a[0].name), a[0].value, b[0].value)
			a, b = a[1:], b[1:]
		}
	}
}

func (d *differ) member(path, name string, old, now []byte) {
	if slices.Contains(d.ignore, name) {
		return
	}
	if path != "" {
		name = path + "." + name
	}
	d.diff(name, old, now)
}

func (d *differ) arrays(path string, old, now []byte) {
	var a, b [][]byte
	for element := range jsonscan.Elements(old) {
		a = append(a, element)
	}
	for element := range jsonscan.Elements(now) {
		b = append(b, element)
	}
	for i := range max(len(a), len(b)) {
		var x, y []byte
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		d.diff(path+"["+strconv.Itoa(i)+"]", x, y)
	}
}
