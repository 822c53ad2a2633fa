package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/dispatch/schema"
)

// A Spec describes an operation, once, for every surface.
type Spec struct {
	// Name is dotted, service first: "fs.read". Each part is letters, digits, '_' and '-'; 128
	// bytes in all.
	Name    string
	Title   string // for people, optional
	Summary string // one sentence, required
	// everything a caller has to know; the summary if empty. The declared codes are added to it
	Description string
	Kind        Kind
	// every call of it takes away or overwrites for good, and has to be confirmed; set for the kind
	// Destructive
	Destructive bool
	Idempotent  bool // calling again with the same arguments changes nothing more
	OpenWorld   bool // it reaches beyond what this program controls, say the network
	// the codes it may return, beside those that any may (see [Dispatcher.Dispatch])
	Errors []Code
	// AnyCode allows codes beyond Errors, for an operation that is outside of a catalog and whose
	// callers do not branch on codes
	AnyCode bool
	Timeout time.Duration // of its context; 0: the dispatcher's default
	Gate    Gate          // "": always open

	// Input and Output are JSON Schemas (2020-12 unless they say otherwise) of the arguments and of
	// the data. nil: inferred from the Go types by schema.For. Input must be of type object. Its
	// formats are enforced, and properties that are left out get its defaults. Data is checked
	// against an Output that is given; one that is inferred it fits by construction.
	Input, Output json.RawMessage

	// Text, if set, is a func(Out) string that returns the data as a person or a model reads it: in
	// MCP it is the text of the result, where the client also gets the envelope as structured
	// content. Without it, the text is the envelope's JSON.
	Text any

	Examples []Example
}

// An Example is a set of arguments that the input schema allows, and what it shows.
type Example struct {
	Summary string
	Input   json.RawMessage
}

// An Operation is one thing that can be done: a checked and compiled [Spec] and the function behind
// it. It is made by [New], never changes, and is safe for concurrent use.
type Operation struct {
	spec      Spec
	exact     json.RawMessage // of arguments: see ExactInput
	input     *schema.Schema  // exact, compiled
	selectors []selector      // that the input type embeds
	// to check data against; nil for a schema that was inferred from the type that is encoded
	output *schema.Schema

	results sync.Pool // of *[]byte: memory to encode a result in

	// run decodes arguments that fit the input schema, requires the confirmation of a destructive
	// call, calls the function, and encodes what it returns, also as text if the spec has Text.
	run func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, string, error)
}

const maxName = 128 // bytes, as many as an MCP tool name may have

// New returns an operation. fn is called with a context that carries the call (see [CallFrom],
// [Progress], [Logger]) and ends when the call is cancelled or out of time, by any number of
// goroutines at a time.
//
// The arguments are decoded into In as encoding/json does, after they have passed the input schema,
// but that a key must be a field's name to the letter, and must not occur twice. Where In has
// methods to decode itself, what they return is shown to the caller only if it is an [*Error]. Out
// is encoded once, as encoding/json does without escapes for HTML, with these differences, which
// the inferred schema describes: a nil slice or map is empty, a field that is a nil pointer is left
// out, and a time.Duration such as "5m", a url.URL and a big.Int are strings, also in In. Null for
// a pointer in In is accepted, although the published schema does not offer it. Two types are
// special:
//
//   - In = json.RawMessage gets the arguments as they came, defaults filled in. They may be kept
//     only while fn runs. Without Spec.Input they may be any object.
//   - Out = json.RawMessage is data that is encoded already. It is checked to be JSON, and is the
//     dispatcher's from then on.
//
// In = struct{} takes no arguments, Out = struct{} returns {}.
//
// The error names the operation and what is wrong with its spec. Whether its codes exist is for
// [Catalog.Register] to say.
func New[In, Out any](spec Spec, fn func(context.Context, In) (Out, error)) (*Operation, error) {
	if fn == nil {
		return nil, fmt.Errorf("dispatch: operation %q: the function is nil", spec.Name)
	}
	op := &Operation{spec: spec}
	if err := op.describe(); err != nil {
		return nil, fmt.Errorf("dispatch: operation %q: %w", spec.Name, err)
	}
	if err := op.compile(reflect.TypeFor[In](), reflect.TypeFor[Out]()); err != nil {
		return nil, fmt.Errorf("dispatch: operation %q: %w", spec.Name, err)
	}
	text, ok := spec.Text.(func(Out) string)
	if !ok && spec.Text != nil {
		return nil, fmt.Errorf("dispatch: operation %q: Text is a %T and must be a %T", spec.Name,
			spec.Text, text)
	}
	op.run = func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, string, error) {
		v := new(struct { // one allocation for both
			in  In
			out Out
		})
		err := op.decode(ctx, arguments, &v.in)
		if err == nil && op.spec.Destructive {
			err = Confirm(ctx, "%s This cannot be undone.", op.spec.Summary)
		}
		if err != nil {
			return nil, "", err
		}
		if v.out, err = fn(ctx, v.in); err != nil {
			return nil, "", err
		}
		data, err := op.encode(&v.out)
		if err != nil || text == nil {
			return data, "", err
		}
		return data, text(v.out), nil
	}
	return op, nil
}

// describe checks what the spec says in words.
func (op *Operation) describe() error {
	s := &op.spec
	for segment := range strings.SplitSeq(s.Name, ".") {
		if !isSegment(segment) {
			return errors.New(
				`a name is parts of letters, digits, '_' and '-' with dots between: "fs.read"`)
		}
	}
	switch {
	case len(s.Name) > maxName:
		return fmt.Errorf("the name is longer than %d bytes", maxName)
	case s.Summary == "":
		return errors.New("it has no summary")
	case !s.Kind.known():
		return fmt.Errorf("kind %q is none of read, write, destructive, lifecycle, wait, eval",
			s.Kind)
	case s.Timeout < 0:
		return fmt.Errorf("the timeout %v is negative", s.Timeout)
	case s.Destructive && (s.Kind == Read || s.Kind == Wait):
		return fmt.Errorf("it is destructive and of kind %s, which changes nothing", s.Kind)
	}
	s.Destructive = s.Destructive || s.Kind == Destructive
	s.Errors = slices.Clone(s.Errors)
	for i, code := range s.Errors {
		if slices.Contains(s.Errors[:i], code) {
			return fmt.Errorf("it declares the code %q twice", code)
		}
	}
	if s.Destructive {
		op.declare(ConfirmationRequired)
	}
	if s.Kind == Eval {
		op.declare(Blocked)
	}
	return nil
}

// declare adds a code that the operation may return by what it is.
func (op *Operation) declare(code Code) {
	if !slices.Contains(op.spec.Errors, code) {
		op.spec.Errors = append(op.spec.Errors, code)
	}
}

// Spec returns the description that the operation was made from, with Input and Output filled in:
// Input always, Output if anything is known of it. What it refers to is shared and must not be
// changed.
func (op *Operation) Spec() Spec { return op.spec }

// Name returns the dotted name.
func (op *Operation) Name() string { return op.spec.Name }

// flatName returns the name without hierarchy.
func (op *Operation) flatName() string { return flatName(op.spec.Name) }

func flatName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// Service returns what stands before the first dot of the name, all of a name without one.
func (op *Operation) Service() string {
	service, _, _ := strings.Cut(op.spec.Name, ".")
	return service
}

// Action returns what stands behind the first dot of the name, "" for a name without one.
func (op *Operation) Action() string {
	_, action, _ := strings.Cut(op.spec.Name, ".")
	return action
}

// Destructive reports whether a call of the operation may take away or overwrite something for
// good, and has to be confirmed then: it declares [ConfirmationRequired], as every operation does
// for which the spec or the kind says that all its calls are destructive. One that is so only at
// times declares it by itself, and asks with [Confirm].
func (op *Operation) Destructive() bool {
	return slices.Contains(op.spec.Errors, ConfirmationRequired)
}

// Description returns the text that a surface shows: the description, or else the summary, and as
// its last line the declared codes:
//
//	Errors: not_found, state_error
func (op *Operation) Description() string {
	text := op.spec.Description
	if text == "" {
		text = op.spec.Summary
	}
	for i, code := range op.spec.Errors {
		if i == 0 {
			text += "\n\nErrors: "
		} else {
			text += ", "
		}
		text += string(code)
	}
	return text
}

// Input returns the JSON Schema of the arguments, of type object, in one line. It is shared and
// must not be changed.
func (op *Operation) Input() json.RawMessage { return op.spec.Input }

// ExactInput returns the JSON Schema that arguments are validated against. It differs from Input if
// that is inferred: see [schema.Exact]. It is shared and must not be changed.
func (op *Operation) ExactInput() json.RawMessage { return op.exact }

// Output returns the JSON Schema of the data in one line, nil if nothing is known of it. It is
// shared and must not be changed.
func (op *Operation) Output() json.RawMessage { return op.spec.Output }

func isSegment(s string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return s != ""
}
