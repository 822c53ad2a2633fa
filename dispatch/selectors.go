package dispatch

import (
	"errors"
	"reflect"
)

// A selector is an argument that a surface can also pass in the [Call]. There are two: [Instance]
// and [Session].
type selector struct {
	name     string // of the argument
	typeName string // of the embedded type
	// the argument in an input; nil if the type is embedded as a pointer that is nil
	argument    func(input any) (argument *string, embedded bool)
	inCall      func(*Call) *string
	unknownCode Code // the code for an unknown value
}

var allSelectors = [...]selector{
	{"instance", "Instance", instanceOf, func(c *Call) *string { return &c.Instance },
		UnknownInstance},
	{"session", "Session", sessionOf, func(c *Call) *string { return &c.Session }, NotRunning},
}

// selectors returns the selectors that an input type embeds.
func selectors(input any) (found []selector, err error) {
	input = innermostPointer(input)
	for _, s := range allSelectors {
		switch argument, embedded := s.argument(input); {
		case embedded && argument == nil:
			return nil, errors.New("its input embeds dispatch." + s.typeName +
				" as a pointer; embed the struct")
		case embedded:
			found = append(found, s)
		}
	}
	return found, nil
}

// innermostPointer dereferences input, a pointer, until it points to a value that is no pointer. It
// allocates the values of nil pointers.
func innermostPointer(input any) any {
	pointer := reflect.ValueOf(input)
	for ; pointer.Elem().Kind() == reflect.Pointer; pointer = pointer.Elem() {
		if pointer.Elem().IsNil() {
			pointer.Elem().Set(reflect.New(pointer.Elem().Type().Elem()))
		}
	}
	return pointer.Interface()
}

// mergeSelectors sets each selector in the input from the call, or the other way round. If both are
// set and differ, it returns an error, because an interceptor may have checked only one of them.
func mergeSelectors(chosen []selector, input any, call *Call) error {
	if len(chosen) > 0 {
		input = innermostPointer(input)
	}
	for _, s := range chosen {
		argument, _ := s.argument(input)
		switch given := s.inCall(call); {
		case *argument == "":
			*argument = *given
		case *given == "":
			*given = *argument
		case *given != *argument:
			return InvalidArgument("/"+s.name, "must be %q, the %s of the call, not %q", *given,
				s.name, *argument)
		}
	}
	return nil
}
