package cli

import (
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/form"
)

// The flags of every operation; yesFlag only if the operation may need confirmation. A property of
// the same name has no flag.
const (
	helpFlag, shortHelpFlag = "--help", "-h"
	outputFlag              = "-o"
	wholeFlag               = "--json"
	shortWholeFlag          = "-d"
	yesFlag, shortYesFlag   = "--yes", "-y"
)

var outputs = []string{"text", "json"}

// isReserved reports whether a flag is one of these and not a property. s must be the shape of all
// arguments.
func (s shape) isReserved(flag string) bool {
	return flag == helpFlag || flag == wholeFlag || flag == yesFlag && s.canConfirm
}

// A flag sets a property of the arguments, or of an object within them.
type flag struct {
	path     []string // the names that lead to it
	shape    shape
	required bool
	free     bool // the last name is any name
}

// name returns the flag as it is typed.
func (f flag) name() string { return "--" + strings.Join(f.path, ".") }

// anyName is the last name in the path of a flag whose name the caller chooses.
const anyName = "NAME"

const maxFlags = 500 // of an operation that are listed; nested properties can be many

// flags returns the flags of an object, for help and completion, in the order of the schema. A
// property that is an object is replaced by the flags of its own properties, unless it contains an
// object of its own type.
func (s shape) flags() []flag { return appendFlags(nil, flag{shape: s, required: true}, nil) }

// appendFlags appends the flags of an object's properties. within are the schemas of the enclosing
// objects, each as the address of its text.
func appendFlags(dst []flag, outer flag, within []*byte) []flag {
	within = slices.Clip(within)
	for _, p := range outer.shape.Parts() {
		within = append(within, &p.At[0])
	}
	for _, field := range outer.shape.Fields() {
		property := shape{Schema: field.Schema}
		f := flag{path: append(slices.Clip(outer.path), field.Name), shape: property,
			required: outer.required && field.Required}
		switch {
		case len(dst) == maxFlags:
			return dst
		case outer.shape.isReserved(f.name()):
		default:
			recursive := slices.ContainsFunc(property.Parts(),
				func(p form.Part) bool { return slices.Contains(within, &p.At[0]) })
			n := len(dst)
			if property.IsOnly("object") && !recursive {
				dst = appendFlags(dst, f, within)
			}
			if len(dst) == n {
				dst = append(dst, f)
			}
		}
	}
	if free, open := outer.shape.additional(); open && len(dst) < maxFlags {
		dst = append(dst,
			flag{path: append(slices.Clip(outer.path), anyName), shape: free, free: true})
	}
	return dst
}

// find returns the flag of a name, in which - and _ are the same. A name that is not a property is
// split at a dot after a property that is an object. If the object accepts any name, that name may
// have dots.
func (s shape) find(name string) (flag, bool) {
	if name == "" {
		return flag{}, false
	}
	if f, ok := s.own(name); ok {
		return f, true
	}
	for i, c := range name {
		if c != '.' {
			continue
		}
		if outer, ok := s.own(name[:i]); ok && outer.shape.Is("object") {
			if inner, ok := outer.shape.find(name[i+1:]); ok {
				inner.path = append(outer.path, inner.path...)
				inner.required = inner.required && outer.required
				return inner, true
			}
		}
	}
	free, open := s.additional()
	return flag{path: []string{name}, shape: free, free: true}, open
}

// own returns the flag of a property of this object.
func (s shape) own(name string) (flag, bool) {
	property, ok := s.property(name)
	for _, other := range s.Fields() {
		if !ok && kebab(other.Name) == kebab(name) {
			name, property, ok = other.Name, shape{Schema: other.Schema}, true
		}
	}
	return flag{path: []string{name}, shape: property, required: s.Required(name)}, ok
}

// flagOf returns the flag that sets the value at a path, and how many names of the path it covers,
// because flags do not lead into arrays. It returns "" and 0 if there is no such flag.
func (s shape) flagOf(path []string) (name string, covered int) {
	at := s
	for _, token := range path {
		if !at.Is("object") {
			break
		}
		property, ok := at.property(token)
		if !ok {
			if property, ok = at.additional(); !ok {
				break
			}
		}
		at = property
		covered++
	}
	if name = "--" + strings.Join(path[:covered], "."); covered == 0 || s.isReserved(name) {
		return "", 0
	}
	return name, covered
}

func kebab(name string) string { return strings.ReplaceAll(name, "_", "-") }
