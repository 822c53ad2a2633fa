// Package toml reads TOML 1.0 as JSON, and writes strings and keys of TOML.
//
// [Parse] validates a whole document. Its result is JSON text, so that a program that reads JSON
// can read TOML too, and the place of each value in the document. Dates, times, infinity and NaN,
// which JSON does not have, become strings.
package toml

import (
	"bytes"
	"fmt"
	"sort"
)

const (
	// MaxDepth is the maximum depth of nested tables and arrays.
	MaxDepth = 100
	// MaxValues is the maximum number of values, tables included.
	MaxValues = 1 << 18
)

// An Error says where and why a text is not TOML.
type Error struct {
	Offset int // in bytes from the start of the text
	Reason string
}

func (e *Error) Error() string {
	return fmt.Sprintf("invalid TOML at byte %d: %s", e.Offset, e.Reason)
}

// A Document is a valid TOML document.
type Document struct {
	JSON       []byte      // an object
	Statements []Statement // in the order of the document
	marks      []mark      // ordered by both offsets
	length     int         // of the document, in bytes
}

// A Statement is a table header, or a key with its value.
type Statement struct {
	Path       []string // the keys from the root
	Header     bool
	Start, End int // its bytes, without the comment and the line end after it
}

// A mark is an offset in the JSON text, and the one in the document that it corresponds to.
type mark struct{ json, toml int }

// Offset returns the offset in the document of the name or value at an offset of the JSON text.
// Between names and values, it is the offset of the preceding one.
func (d *Document) Offset(json int) int {
	if json >= len(d.JSON) {
		return d.length
	}
	i := sort.Search(len(d.marks), func(i int) bool { return d.marks[i].json > json })
	if i == 0 {
		return 0
	}
	return d.marks[i-1].toml
}

// Parse reads a document. A byte order mark before it is ignored. The error is an [*Error].
func Parse(data []byte) (*Document, error) {
	p := &parser{data: data, root: &table{kind: explicit}}
	p.table = p.root
	if bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")) {
		p.i = 3
	}
	if err := p.document(); err != nil {
		return nil, err
	}
	d := &Document{Statements: p.statements, length: len(data)}
	d.appendTable(p.root)
	return d, nil
}

// A value is a scalar, a table or an array.
type value struct {
	start int
	json  []byte // of a scalar
	table *table
	array *array
}

type array struct {
	elements []value
	tables   bool // made by [[headers]]
}

// A table keeps its members in the order of the document.
type table struct {
	members []member
	index   map[string]int // of members by key, once there are many
	kind    tableKind
	section int // of a dotted table: the number of the header that precedes its keys
}

type member struct {
	key   string
	start int
	value value
}

// A tableKind says how a table was defined, which decides how it may be extended.
type tableKind uint8

const (
	implicit tableKind = iota // as the parent of a table with a header
	explicit                  // by a header
	dotted                    // by the dots of a key
	inline                    // by {}
)

// find returns the value of a key, or nil. It stays valid until a member is added.
func (t *table) find(key string) *value {
	if t.index != nil {
		if i, ok := t.index[key]; ok {
			return &t.members[i].value
		}
		return nil
	}
	for i := range t.members {
		if t.members[i].key == key {
			return &t.members[i].value
		}
	}
	return nil
}

// add adds a member, whose key must be new.
func (t *table) add(key string, start int, v value) {
	const few = 8
	t.members = append(t.members, member{key, start, v})
	switch {
	case t.index != nil:
		t.index[key] = len(t.members) - 1
	case len(t.members) > few:
		t.index = make(map[string]int)
		for i, m := range t.members {
			t.index[m.key] = i
		}
	}
}
