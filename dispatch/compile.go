package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

var rawJSON = reflect.TypeFor[json.RawMessage]()

// compileSchemas infers the schemas of op that its spec lacks from the types, compiles all, and
// checks the examples of the spec. It is not a method, because each package that uses an Operation
// would then compile the iterators of package reflect.
func compileSchemas(op *Operation, in, out reflect.Type) error {
	s := &op.spec
	var err error
	switch {
	case s.Input == nil && in == rawJSON:
		s.Input = json.RawMessage(`{"type":"object"}`)
	case s.Input == nil:
		if s.Input, err = schema.ForType(in); err == nil {
			op.exact, err = schema.ForType(in, schema.Exact)
		}
	default:
		s.Input, err = jsonscan.AppendCompact(nil, s.Input)
	}
	if err == nil {
		s.Input = schema.WithProperties(s.Input)
		if op.exact == nil {
			op.exact = s.Input
		}
		op.input, err = schema.Options{AssertFormats: true}.Compile(op.exact)
	}
	if err == nil && string(jsonscan.Member(s.Input, "type")) != `"object"` {
		err = errors.New(`it must have "type":"object" at its top: arguments have names`)
	}
	if err == nil {
		err = checkDefaults(op.input)
	}
	if err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	switch {
	case s.Output != nil:
		if s.Output, err = jsonscan.AppendCompact(nil, s.Output); err == nil {
			op.output, err = schema.Options{AssertFormats: true}.Compile(s.Output)
		}
	case out != rawJSON:
		s.Output, err = schema.ForType(out, schema.Output)
	}
	if err != nil {
		return fmt.Errorf("output schema: %w", err)
	}
	if string(s.Output) == "{}" { // inferred from an interface: it allows everything
		s.Output = nil
	}
	if op.selectors, err = selectors(reflect.New(in).Interface()); err != nil {
		return err
	}
	for _, s := range op.selectors {
		op.addCode(s.unknownCode)
	}
	return op.checkExamples()
}

// checkDefaults returns an error if the schema refuses its own defaults when all arguments are
// omitted.
func checkDefaults(input *schema.Schema) error {
	filled, err := input.FillDefaults([]byte("{}"))
	if err != nil || string(filled) == "{}" {
		return err
	}
	if failure, ok := errors.AsType[*schema.Error](input.ValidateScanned(filled)); ok {
		for _, cause := range failure.Causes {
			if cause.InstancePath != "" {
				return fmt.Errorf("default of %s", cause)
			}
		}
	}
	return nil
}

func (op *Operation) checkExamples() error {
	op.spec.Examples = slices.Clone(op.spec.Examples)
	for i, example := range op.spec.Examples {
		if example.Summary == "" {
			return fmt.Errorf("example %d has no summary", i+1)
		}
		text, err := jsonscan.AppendCompact(nil, example.Input)
		if err == nil {
			err = op.input.ValidateScanned(text)
		}
		if err != nil {
			return fmt.Errorf("example %q: %w", example.Summary, err)
		}
		op.spec.Examples[i].Input = text
	}
	return nil
}
