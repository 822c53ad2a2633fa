package dispatch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/turn"
)

// A Spec describes an operation, once, for every surface.
type Spec struct {
	// Name has parts separated by dots, the service first: "fs.read". Each part consists of
	// letters, digits, '_' and '-'. Name has at most 128 bytes.
	Name    string
	Title   string // for people, optional
	Summary string // one sentence, required
	// Description is the full description; "": the summary. The declared codes are added to it.
	Description string
	Type        Type
	// Destructive says that no call can be undone, so each call must be confirmed. The type
	// Destructive implies it.
	Destructive bool
	Idempotent  bool // a second call with the same arguments has no further effect
	OpenWorld   bool // a call interacts with the outside world, for example the network
	// Errors are the codes that the operation may return, in addition to the universal ones: see
	// [Dispatcher.Dispatch].
	Errors []Code
	// AnyCode allows codes beyond Errors, for an operation that is outside of a catalog and whose
	// callers do not branch on codes
	AnyCode bool
	Timeout time.Duration // of its context; 0: the dispatcher's default
	Gate    Gate          // "": always open

	// Input and Output are the JSON Schemas (2020-12 unless they have a $schema) of the arguments
	// and of the data. nil: inferred from the Go types by [schema.For]. Input must be of type
	// object. Its formats are assertions, and missing properties get its defaults. Data is
	// validated against a given Output. An inferred one is not checked: the data has its types, but
	// may violate what a tag says, such as an enum.
	Input, Output json.RawMessage

	// Text, if set, is a func(Out) string that formats the data for people and models. In MCP the
	// string is the text of the result, and the envelope is the structured content. Without Text,
	// or if it returns "", the text is the envelope's JSON.
	Text any

	Examples []Example
}

// An Example is a set of arguments that the input schema allows, with a summary.
type Example struct {
	Summary string
	Input   json.RawMessage
}

// An Operation is a checked and compiled [Spec] with its function. It is made by [NewOperation],
// never changes, and is safe for concurrent use.
type Operation struct {
	spec      Spec
	exact     json.RawMessage // see ExactInput
	input     *schema.Schema  // exact, compiled
	selectors []selector      // those that the input type embeds
	// the given output schema; nil if it was inferred from the Go type, whose values always match
	output *schema.Schema

	results    sync.Pool    // of *[]byte: memory for encoding results
	resultSize atomic.Int64 // of the last result, in bytes

	// run decodes arguments that match the input schema, requires the confirmation of a destructive
	// call, calls the function, and encodes its result, also as text if the spec has Text.
	run func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, string, error)
}

const maxName = 128 // bytes, as for the name of an MCP tool

// NewOperation returns an operation. fn is called concurrently, with a context that carries the
// call (see [CallFrom], [Progress], [Logger]) and ends when the call is cancelled or times out.
//
// After the arguments were validated against the input schema, they are decoded into In as by
// encoding/json, except that a key must equal the name of a field exactly, and must not occur
// twice. An error of In's own decoding methods is shown to the caller only if it is an [*Error].
// Out is encoded once, as by encoding/json without escapes for HTML, with these differences, which
// the inferred schema describes: a nil slice or map is encoded as empty, a field that is a nil
// pointer is omitted, and a time.Duration such as "5m", a url.URL and a big.Int are strings, also
// in In. Null is accepted for a pointer in In, although the published schema does not allow it. Two
// types are special:
//
//   - In = json.RawMessage gets the arguments as JSON, with the defaults filled in. They are valid
//     until fn returns. Without Spec.Input they may be any object.
//   - Out = json.RawMessage is the data as JSON. It is checked, and then belongs to the dispatcher.
//
// In = struct{} takes no arguments, Out = struct{} returns {}.
//
// The error names the operation and the mistake in its spec. [Catalog.Register] checks that its
// codes exist.
func NewOperation[In, Out any](spec Spec, fn func(context.Context, In) (Out, error)) (*Operation,
	error) {
	if fn == nil {
		return nil, fmt.Errorf("dispatch: operation %q: the function is nil", spec.Name)
	}
	op := &Operation{spec: spec}
	if err := op.checkSpec(); err != nil {
		return nil, fmt.Errorf("dispatch: operation %q: %w", spec.Name, err)
	}
	if err := compileSchemas(op, reflect.TypeFor[In](), reflect.TypeFor[Out]()); err != nil {
		return nil, fmt.Errorf("dispatch: operation %q: %w", spec.Name, err)
	}
	text, ok := spec.Text.(func(Out) string)
	if !ok && spec.Text != nil {
		return nil, fmt.Errorf("dispatch: operation %q: Text is a %T and must be a %T", spec.Name,
			spec.Text, text)
	}
	op.run = func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, string, error) {
		v := new(struct { // saves an allocation
			in  In
			out Out
		})
		var err error
		turn.Do(ctx, len(arguments), func() { err = op.decode(ctx, arguments, &v.in) })
		if err == nil && op.spec.Destructive {
			err = Confirm(ctx, "%s This cannot be undone.", op.spec.Summary)
		}
		if err != nil {
			return nil, "", err
		}
		if v.out, err = fn(ctx, v.in); err != nil {
			return nil, "", err
		}
		var data json.RawMessage
		// A result is often about as large as its arguments, or as the one before it.
		expected := max(len(arguments), int(op.resultSize.Load()))
		turn.Do(ctx, expected, func() { data, err = op.encode(&v.out) })
		op.resultSize.Store(int64(len(data)))
		if err != nil || text == nil {
			return data, "", err
		}
		return data, text(v.out), nil
	}
	return op, nil
}

// checkSpec checks the spec apart from its schemas, examples and Text, copies its Errors, and adds
// the codes of its type.
func (op *Operation) checkSpec() error {
	s := &op.spec
	for segment := range strings.SplitSeq(s.Name, ".") {
		if !isSegment(segment) {
			return errors.New(
				`a name must have parts of letters, digits, '_' and '-', separated by dots: "fs.read"`)
		}
	}
	switch {
	case len(s.Name) > maxName:
		return fmt.Errorf("the name is longer than %d bytes", maxName)
	case s.Summary == "":
		return errors.New("it has no summary")
	case !s.Type.known():
		return fmt.Errorf("the type %q is not one of %v", s.Type, types)
	case s.Timeout < 0:
		return fmt.Errorf("the timeout %v is negative", s.Timeout)
	case s.Destructive && (s.Type == Read || s.Type == Wait):
		return fmt.Errorf("it is destructive and of type %s, which changes nothing", s.Type)
	}
	s.Destructive = s.Destructive || s.Type == Destructive
	s.Errors = slices.Clone(s.Errors)
	for i, code := range s.Errors {
		if slices.Contains(s.Errors[:i], code) {
			return fmt.Errorf("it declares the code %q twice", code)
		}
	}
	if s.Destructive {
		op.addCode(ConfirmationRequired)
	}
	if s.Type == Eval {
		op.addCode(Blocked)
	}
	return nil
}

// addCode declares a code that follows from the type or the input of the operation.
func (op *Operation) addCode(code Code) {
	if !slices.Contains(op.spec.Errors, code) {
		op.spec.Errors = append(op.spec.Errors, code)
	}
}

// Spec returns the spec of the operation. Its Input is the JSON Schema of the arguments, of type
// object, its Output that of the data, nil if there is none, each in one line. The slices are
// shared and must not be changed.
func (op *Operation) Spec() Spec { return op.spec }

// Name returns the dotted name.
func (op *Operation) Name() string { return op.spec.Name }

// flatName returns the name with '_' in place of dots, as surfaces without a hierarchy write it.
func (op *Operation) flatName() string { return flatName(op.spec.Name) }

func flatName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// Destructive reports whether the operation declares [ConfirmationRequired], so that a call may
// have to be confirmed. An operation whose Spec is Destructive always does. An operation of which
// only some calls cannot be undone declares the code itself and calls [Confirm].
func (op *Operation) Destructive() bool {
	return slices.Contains(op.spec.Errors, ConfirmationRequired)
}

// Description returns the text that a surface shows: the description or else the summary, with the
// declared codes as its last line:
//
//	Errors: not_found, state_error
func (op *Operation) Description() string {
	text := cmp.Or(op.spec.Description, op.spec.Summary)
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

// ExactInput returns the JSON Schema with which arguments are validated. It differs from Input if
// Input is inferred: see [schema.Exact]. It is shared and must not be changed.
func (op *Operation) ExactInput() json.RawMessage { return op.exact }

func isSegment(s string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return s != ""
}
