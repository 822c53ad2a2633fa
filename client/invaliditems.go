package client

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client/internal/errtext"
	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc"
)

// An InvalidItemsError is the cause of the [CallError] that ends a list of which some elements are
// invalid. The others were yielded before it. It matches [rpc.ErrProtocol].
type InvalidItemsError struct {
	Count int           // invalid elements
	Items []InvalidItem // the first 10 of them
}

// An InvalidItem is an element of a list that is invalid.
type InvalidItem struct {
	Name string // or the URI, printable and truncated; "" if it has none
	Err  error
}

const (
	maxInvalidItems = 10
	maxInvalidName  = 200 // bytes
)

func (e *InvalidItemsError) Error() string {
	var b strings.Builder
	for i, item := range e.Items {
		if i > 0 {
			b.WriteString("; ")
		}
		if item.Name == "" {
			fmt.Fprintf(&b, "an element is invalid: %v", item.Err)
		} else {
			fmt.Fprintf(&b, "%q is invalid: %v", item.Name, item.Err)
		}
	}
	if rest := e.Count - len(e.Items); rest > 0 {
		fmt.Fprintf(&b, "; and %d more", rest)
	}
	return b.String()
}

func (e *InvalidItemsError) Is(target error) bool { return target == rpc.ErrProtocol }

// Names reports whether the element with a name or URI is among Items.
func (e *InvalidItemsError) Names(name string) bool {
	return slices.ContainsFunc(e.Items, func(i InvalidItem) bool { return i.Name == name })
}

// add adds an element, which is valid JSON.
func (e *InvalidItemsError) add(element []byte, err error) {
	if e.Count++; len(e.Items) == maxInvalidItems {
		return
	}
	name, _ := jsonscan.Text(jsonscan.Member(element, "name"))
	if name == "" {
		name, _ = jsonscan.Text(jsonscan.Member(element, "uri"))
	}
	if decoding, ok := errors.AsType[*jsonexact.DecodeError](err); ok {
		// without the path and offset in the text that was decoded
		if _, path, ok := strings.Cut(decoding.Path, "[0]."); ok {
			err = errtext.Wrap(path+": "+decoding.Err.Error(), err)
		} else {
			err = decoding.Err
		}
	}
	e.Items = append(e.Items,
		InvalidItem{printable.TruncateBytes(printable.Line(name), maxInvalidName), err})
}

// OmitInvalid returns a list, as of [Client.Tools], without an [InvalidItemsError] at its end: for
// a program that looks for one element, or that needs only those that are valid.
func OmitInvalid[T any](list iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range list {
			if _, invalid := errors.AsType[*InvalidItemsError](err); invalid || !yield(item, err) {
				return
			}
		}
	}
}
