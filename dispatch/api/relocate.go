package api

import (
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/form"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// relocate rewrites a valid JSON Schema so that it can be part of another document, at the place
// that a JSON Pointer names. References keep their targets, as pointers into the document;
// identifiers and anchors are removed. A schema of draft-07 becomes one of 2020-12, the dialect of
// OpenAPI 3.1. A reference to outside of the schema can only be to a meta-schema. It becomes x-ref,
// which has no effect, because few programs follow such references.
//
// ok is false for a schema with a $dynamicRef, because its target depends on where validation
// begins. ok is also false if the work is too much for the size of the schema: pointers to deeply
// nested places are long.
func relocate(text json.RawMessage, to string) (moved json.RawMessage, ok bool) {
	r := &relocation{text: text, root: form.NewRoot(text), left: workPerByte*len(text) + leastWork,
		places: map[string]*place{}, targets: map[string]string{"": ""}}
	r.enter(text, "", to, &url.URL{}, false)
	for len(r.references) > 0 && r.left >= 0 {
		// to a place that is not the value of a known keyword, and that may contain further schemas
		next := r.references[0]
		r.references = r.references[1:]
		if at, here := r.target(next); here {
			value, to, near := r.follow(at)
			r.enter(value, at, to, near.base, near.draft07)
		}
	}
	if r.left < 0 {
		return nil, false
	}
	moved = r.append(nil, text, "")
	return moved, !r.dynamic && r.left >= 0
}

// The limits on the work of a relocation, in bytes that are read or written.
const (
	workPerByte = 64
	leastWork   = 1 << 20
)

// spend uses up part of the work limit. It returns false if the limit is exceeded.
func (r *relocation) spend(bytes int) bool {
	r.left -= bytes
	return r.left >= 0
}

type relocation struct {
	text json.RawMessage
	root *form.Root
	left int // work
	// all schemas except true and false, by the pointer to their place
	places map[string]*place
	// the pointers to the schemas that absolute URIs name, with an anchor or without fragment
	targets    map[string]string
	references []*url.URL // absolute references that have not been followed yet
	dynamic    bool
}

// A place is the place of a schema in both documents, with the properties needed to write it.
type place struct {
	to      string   // the pointer in the new document
	base    *url.URL // the base URI of its references
	draft07 bool
	refers  bool // the schema has a $ref
}

// The keywords whose values contain schemas: in the members of the value, or else in the value
// itself or its elements.
var (
	schemaMaps = set("$defs", "definitions", "properties", "patternProperties", "dependentSchemas",
		"dependencies")
	schemaOnes = set("additionalItems", "additionalProperties", "allOf", "anyOf", "contains",
		"contentSchema", "else", "if", "items", "not", "oneOf",
		"prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties")
)

var (
	// identifying are the keywords that are removed.
	identifying = set("$schema", "$id", "$anchor", "$dynamicAnchor", "$vocabulary")
	// unknown07 are the keywords of 2020-12 that draft-07 does not have.
	unknown07 = set("$dynamicRef", "dependentRequired", "dependentSchemas", "maxContains",
		"minContains", "prefixItems", "unevaluatedItems",
		"unevaluatedProperties")
	// besideRef are the keywords that may stay beside a $ref of draft-07, which ignores all others.
	besideRef = set("$comment", "$defs", "$ref", "default", "definitions", "description",
		"examples", "title")
)

func set(names ...string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}

// enter records the schema at a pointer, and the schemas within it.
func (r *relocation) enter(value []byte, at, to string, base *url.URL, draft07 bool) {
	if len(value) == 0 || value[0] != '{' || r.places[at] != nil ||
		!r.spend(len(value)+len(at)+len(to)) {
		return
	}
	if uri, ok := jsonscan.Text(jsonscan.Member(value, "$schema")); ok {
		draft07 = strings.HasPrefix(strings.Replace(uri, "https:", "http:", 1), schema.Draft07)
	}
	refers := jsonscan.Member(value, "$ref") != nil
	alone := draft07 && refers
	if id, ok := reference(value, "$id", base); ok && !alone {
		r.targets[id.String()] = at
		if id.Fragment == "" {
			base = id
		}
	}
	if !draft07 {
		for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
			if anchor, ok := jsonscan.Text(jsonscan.Member(value, keyword)); ok {
				r.targets[base.ResolveReference(&url.URL{Fragment: anchor}).String()] = at
			}
		}
	}
	p := &place{to, base, draft07, refers}
	r.places[at] = p
	if ref, ok := reference(value, "$ref", base); ok {
		r.references = append(r.references, ref)
	}
	for token, v := range jsonscan.Members(value) {
		name, _ := jsonscan.Text(token)
		below, moved := at+"/"+jsonscan.EscapePointer(name), to+"/"+
			jsonscan.EscapePointer(p.rename(value, name))
		if !r.spend(len(below) + len(moved)) {
			return
		}
		switch {
		case schemaMaps[name]:
			for name, v := range jsonscan.Named(v) {
				r.enter(v, below+"/"+jsonscan.EscapePointer(name), moved+"/"+
					jsonscan.EscapePointer(name), base, draft07)
			}
		case schemaOnes[name]:
			r.enter(v, below, moved, base, draft07)
			for i, v := range numbered(v) {
				r.enter(v, below+"/"+i, moved+"/"+i, base, draft07)
			}
		}
	}
}

// follow returns the value at a pointer, its pointer in the new document, and the innermost schema
// that is or contains the value.
func (r *relocation) follow(at string) (value []byte, to string, near *place) {
	value, near, from := []byte(r.text), r.places[""], ""
	to = near.to
	for _, token := range form.Tokens(at) {
		name := token
		if p := r.places[from]; p != nil {
			name = p.rename(value, token)
		}
		if !r.spend(len(from) + len(to)) {
			break
		}
		value, from, to = r.root.Child(value, token), from+"/"+jsonscan.EscapePointer(token), to+
			"/"+jsonscan.EscapePointer(name)
		if p := r.places[from]; p != nil {
			near = p
		}
	}
	return value, to, near
}

// target returns the pointer to the target of an absolute reference, if it is in the schema.
func (r *relocation) target(ref *url.URL) (at string, here bool) {
	if at, here = r.targets[ref.String()]; here {
		return at, true
	}
	document := *ref
	document.Fragment, document.RawFragment = "", ""
	at, here = r.targets[document.String()]
	return at + ref.Fragment, here && (ref.Fragment == "" || ref.Fragment[0] == '/')
}

// reference returns the absolute form of a keyword's value.
func reference(value []byte, keyword string, base *url.URL) (*url.URL, bool) {
	text, ok := jsonscan.Text(jsonscan.Member(value, keyword))
	if !ok {
		return nil, false
	}
	ref, err := base.Parse(text)
	return ref, err == nil
}

// rename returns the keyword of 2020-12 that has the meaning of a keyword of the schema.
func (p *place) rename(value []byte, name string) string {
	items := []byte(nil)
	if name == "items" || name == "additionalItems" {
		items = jsonscan.Member(value, "items")
	}
	tuple := items != nil && items[0] == '['
	switch {
	case p.draft07 && unknown07[name], p.draft07 && !besideRef[name] && !identifying[name] &&
		p.refers,
		tuple && name == "items" && form.Child(items, "0") == nil: // there is no empty prefixItems
		return "x-" + name
	case tuple && name == "items":
		return "prefixItems"
	case tuple:
		return "items"
	case name == "dependencies" && separable(value):
		return "dependentSchemas"
	}
	return name
}

// separable reports whether the dependencies of a schema can become those of 2020-12.
func separable(value []byte) bool {
	return jsonscan.Member(value, "dependentSchemas") == nil &&
		jsonscan.Member(value, "dependentRequired") == nil
}

// append appends the value at a pointer.
func (r *relocation) append(dst, value []byte, at string) []byte {
	if !r.spend(len(value) + len(at)) {
		return dst
	}
	switch value[0] {
	case '{':
		w := &writer{dst: append(dst, '{')}
		if p := r.places[at]; p != nil {
			r.keywords(w, p, value, at)
		} else {
			for name, v := range jsonscan.Named(value) {
				w.dst = r.append(w.key(name), v, at+"/"+jsonscan.EscapePointer(name))
			}
		}
		return append(w.dst, '}')
	case '[':
		dst = append(dst, '[')
		for i, v := range numbered(value) {
			if i != "0" {
				dst = append(dst, ',')
			}
			dst = r.append(dst, v, at+"/"+i)
		}
		return append(dst, ']')
	}
	return append(dst, value...)
}

// keywords writes the members of a schema.
func (r *relocation) keywords(w *writer, p *place, value []byte, at string) {
	for name, v := range jsonscan.Named(value) {
		below, renamed := at+"/"+jsonscan.EscapePointer(name), p.rename(value, name)
		switch {
		case identifying[name]:
		case renamed == "$ref":
			ref, _ := reference(value, "$ref", p.base)
			if at, here := r.target(ref); here {
				_, to, _ := r.follow(at)
				r.spend(len(to))
				w.dst = jsonscan.AppendString(w.key("$ref"), pointTo(to))
			} else {
				w.dst = jsonscan.AppendString(w.key("x-ref"), ref.String())
			}
		case renamed == "dependentSchemas" && name == "dependencies":
			r.dependencies(w, v, below)
		default:
			r.dynamic = r.dynamic || renamed == "$dynamicRef"
			w.dst = r.append(w.key(renamed), v, below)
		}
	}
}

// dependencies writes the dependencies on schemas and those on names as separate keywords.
func (r *relocation) dependencies(w *writer, value []byte, at string) {
	for _, kind := range []struct {
		name  string
		names bool
	}{{"dependentSchemas", false}, {"dependentRequired", true}} {
		inner := &writer{}
		for token, v := range jsonscan.Members(value) {
			if name, _ := jsonscan.Text(token); (v[0] == '[') == kind.names {
				inner.dst = r.append(inner.key(name), v, at+"/"+jsonscan.EscapePointer(name))
			}
		}
		if inner.dst != nil {
			w.dst = append(append(append(w.key(kind.name), '{'), inner.dst...), '}')
		}
	}
}

// pointTo returns the reference to a JSON Pointer.
func pointTo(pointer string) string { return "#" + (&url.URL{Fragment: pointer}).EscapedFragment() }

// numbered yields the elements of an array with the tokens of a JSON Pointer to them.
func numbered(array []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		i := 0
		for element := range jsonscan.Elements(array) {
			if !yield(strconv.Itoa(i), element) {
				return
			}
			i++
		}
	}
}

// A writer writes the members of an object.
type writer struct {
	dst  []byte
	more bool
}

// key writes a name, and returns the slice to which the value is appended.
func (w *writer) key(name string) []byte {
	if w.more {
		w.dst = append(w.dst, ',')
	}
	w.more = true
	return append(jsonscan.AppendString(w.dst, name), ':')
}
