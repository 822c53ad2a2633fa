package dispatch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Instance is embedded in an operation's input type to let the caller select one of the named
// targets of a service. It adds the optional argument "instance" to the input and [UnknownInstance]
// to the declared codes. The dispatcher sets it from [Call.Instance] if a surface passes the
// instance separately:
//
//	type Query struct {
//		dispatch.Instance
//		Path string `json:"path"`
//	}
//
//	func (fs *FS) Read(ctx context.Context, q Query) (Text, error) {
//		root, err := fs.roots.Get(q.Instance.Instance)
type Instance struct {
	Instance string `json:"instance,omitempty" doc:"Which instance to use, by name. The default one if left out."`
}

func (i *Instance) instance() *Instance { return i }

func instanceOf(input any) (argument *string, embedded bool) {
	in, ok := input.(interface{ instance() *Instance })
	if !ok || in.instance() == nil {
		return nil, ok
	}
	return &in.instance().Instance, true
}

// Instances are the named targets of a service, one of which is the default. They never change and
// are safe for concurrent use.
type Instances[T any] struct {
	defaultName string
	named       map[string]T
	names       []string
}

// NewInstances returns the given instances. standard is the name of the default; if it is "", every
// call must name an instance. A name consists of letters, digits, '_' and '-'.
func NewInstances[T any](standard string, named map[string]T) (*Instances[T], error) {
	for name := range named {
		if !isSegment(name) {
			return nil, fmt.Errorf("instance name %q: want letters, digits, '_' and '-'", name)
		}
	}
	if _, ok := named[standard]; !ok && standard != "" {
		return nil, fmt.Errorf("default instance %q is not among the instances", standard)
	}
	return &Instances[T]{standard, maps.Clone(named), slices.Sorted(maps.Keys(named))}, nil
}

// Get returns the instance with this name, or the default for "". The error is [UnknownInstance];
// its message, and the array "instances" in its details, list the names.
func (s *Instances[T]) Get(name string) (T, error) {
	key := cmp.Or(name, s.defaultName)
	if value, ok := s.named[key]; ok {
		return value, nil
	}
	var none T
	hint := "there are no instances"
	if len(s.names) > 0 {
		hint = "want one of " + strings.Join(s.names, ", ")
	}
	details := map[string]any{"instances": append([]string{}, s.names...)}
	if name == "" {
		return none, Errorf(UnknownInstance, "no instance was named, and there is no default; %s",
			hint).With(details)
	}
	return none, Errorf(UnknownInstance, "no instance %q; %s", name, hint).With(details)
}

// Default returns the name of the default instance; "" if there is no default.
func (s *Instances[T]) Default() string { return s.defaultName }

// Names returns all names, sorted. The caller owns the slice.
func (s *Instances[T]) Names() []string { return slices.Clone(s.names) }
