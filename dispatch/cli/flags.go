package cli

import (
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/form"
)

// The flags that every operation has, yesFlag only if it may have to be confirmed. A property of
// the same name has to stand back for them.
const (
	helpFlag, shortHelpFlag = "--help", "-h"
	outputFlag              = "-o"
	wholeFlag               = "--json"
	yesFlag, shortYesFlag   = "--yes", "-y"
)

var outputs = []string{"text", "json"}

// isReserved reports whether a flag has a meaning of its own, if s is the shape of all arguments.
func (s shape) isReserved(flag string) bool {
	return flag == helpFlag || flag == wholeFlag || flag == yesFlag && s.canConfirm
}

// A flag stands for a property of the arguments, or for one of a property that is an object.
type flag struct {
	path     []string // the names that lead to it
	shape    shape
	required bool
	free     bool // the last name is for the caller to choose
}

// name is the flag as it is typed.
func (f flag) name() string { return "--" + strings.Join(f.path, ".") }

// anyName stands in the path of a flag for a name that the caller chooses.
const anyName = "NAME"

const maxFlags = 500 // that are listed: properties of properties may be very many

// flags lists the flags of an object's properties, for help and completion, in the schema's order.
// A property that is an object has the flags of its own properties in its place, unless it is
// inside one of its own kind.
func (s shape) flags() []flag { return appendFlags(nil, flag{shape: s, required: true}, nil) }

// appendFlags appends the flags of an object's properties. within are the parts of the objects that
// the object is in.
func appendFlags(dst []flag, outer flag, within []*byte) []flag {
	within = slices.Clip(within)
	for _, p := range outer.shape.Parts() {
		within = append(within, &p.At[0])
	}
	for _, field := range outer.shape.Fields() {
		property := shape{Schema: field.Schema}
		f := flag{path: append(slices.Clip(outer.path), field.Name), shape: property,
			required: outer.required && field.Required}
		switch recursive := slices.ContainsFunc(property.Parts(),
			func(p form.Part) bool { return slices.Contains(within, &p.At[0]) }); {
		case len(dst) == maxFlags:
			return dst
		case outer.shape.isReserved(f.name()):
		default:
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

// find returns the flag that a name means, '-' or '_' alike. A name with dots in it leads into an
// object, unless it is itself one of a property. An object that takes any name takes it with its
// dots.
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

// own finds a property of this very object.
func (s shape) own(name string) (flag, bool) {
	property, ok := s.property(name)
	for _, other := range s.Fields() {
		if !ok && kebab(other.Name) == kebab(name) {
			name, property, ok = other.Name, shape{Schema: other.Schema}, true
		}
	}
	return flag{path: []string{name}, shape: property, required: s.Required(name)}, ok
}

// flagOf returns the flag for the value that a path leads to, and how much of the path it covers: a
// flag does not lead into arrays. It is "" if there is none.
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
