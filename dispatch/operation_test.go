package dispatch_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/schema"
)

func TestNewRefusesInvalidSpecs(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*dispatch.Spec)
		want   string
	}{
		{"empty name", func(s *dispatch.Spec) { s.Name = "" }, `operation "": a name must`},
		{"empty part", func(s *dispatch.Spec) { s.Name = "fs." }, `operation "fs.": a name must`},
		{"space in the name", func(s *dispatch.Spec) { s.Name = "fs.re ad" }, "a name must"},
		{"long name", func(s *dispatch.Spec) { s.Name = strings.Repeat("a", 129) },
			"longer than 128 bytes"},
		{"no type", func(s *dispatch.Spec) { s.Type = "" }, `type "" is not one of [read`},
		{"unknown kind", func(s *dispatch.Spec) { s.Type = "readonly" },
			`type "readonly" is not one of [read`},
		{"no summary", func(s *dispatch.Spec) { s.Summary = "" }, "no summary"},
		{"negative timeout", func(s *dispatch.Spec) { s.Timeout = -time.Second },
			"the timeout -1s is negative"},
		{"code twice", func(s *dispatch.Spec) {
			s.Errors = []dispatch.Code{"not_found", "not_found"}
		}, `"not_found" twice`},
		{"input not JSON", func(s *dispatch.Spec) { s.Input = json.RawMessage(`{"type":`) },
			"input schema: invalid JSON"},
		{"input not a schema", func(s *dispatch.Spec) {
			s.Input = json.RawMessage(`{"type":"objekt"}`)
		}, "input schema: "},
		{"input not an object", func(s *dispatch.Spec) {
			s.Input = json.RawMessage(`{"type":"array"}`)
		}, `input schema: it must have "type":"object" at its top`},
		{"input that allows everything", func(s *dispatch.Spec) { s.Input = json.RawMessage(`true`) },
			`must have "type":"object"`},
		{"output not a schema", func(s *dispatch.Spec) {
			s.Output = json.RawMessage(`{"minimum":"x"}`)
		}, "output schema: "},
		{"default that does not fit", func(s *dispatch.Spec) {
			s.Input = json.RawMessage(
				`{"type":"object","required":["a"],"properties":{"n":{"type":"integer","default":"x"}}}`)
		}, "input schema: default of n must be an integer, not"},
		{"example that does not fit", func(s *dispatch.Spec) {
			s.Examples = []dispatch.Example{{Summary: "A", Input: json.RawMessage(`{}`)},
				{Summary: "B", Input: json.RawMessage(`{"a":1}`)}}
		}, `example "B": `},
		{"example not JSON", func(s *dispatch.Spec) {
			s.Examples = []dispatch.Example{{Summary: "A", Input: json.RawMessage(`{`)}}
		}, `example "A": invalid JSON`},
		{"example without a summary", func(s *dispatch.Spec) {
			s.Examples = []dispatch.Example{{Input: json.RawMessage(`{}`)}}
		}, "example 1 has no summary"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := dispatch.Spec{Name: "fs.read", Summary: "Read.", Type: dispatch.Read}
			tc.change(&spec)
			op, err := dispatch.NewOperation(spec, doNothing)
			assert.Assert(t, op == nil)
			assert.ErrorContains(t, err, tc.want)
			assert.Assert(t,
				strings.HasPrefix(err.Error(), `dispatch: operation "`+spec.Name+`": `), err)
		})
	}
}

func TestNewRefusesTypes(t *testing.T) {
	spec := dispatch.Spec{Name: "a.b", Summary: "S.", Type: dispatch.Read}
	_, err := dispatch.NewOperation[nothing, nothing](spec, nil)
	assert.ErrorContains(t, err, `operation "a.b": the function is nil`)
	_, err = dispatch.NewOperation(spec,
		func(context.Context, []string) (nothing, error) { return nothing{}, nil })
	assert.ErrorContains(t, err, `operation "a.b": input schema: it must have "type":"object"`)
	_, err = dispatch.NewOperation(
		spec, func(context.Context, struct{ C chan int }) (nothing, error) {
			return nothing{}, nil
		})
	assert.ErrorContains(t, err, `operation "a.b": input schema: `)
	_, err = dispatch.NewOperation(
		spec, func(context.Context, nothing) (func(), error) { return nil, nil })
	assert.ErrorContains(t, err, `operation "a.b": output schema: `)
	_, err = dispatch.NewOperation(spec,
		func(context.Context, struct{ *dispatch.Instance }) (nothing, error) {
			return nothing{}, nil
		})
	assert.ErrorContains(t, err, `embeds dispatch.Instance as a pointer`)
}

func TestSchemasAreInferred(t *testing.T) {
	op, err := dispatch.NewOperation(
		dispatch.Spec{Name: "a.b", Summary: "S.", Type: dispatch.Read}, echo)
	assert.NilError(t, err)
	var input struct {
		Type                 string
		Properties           map[string]struct{ Type, Description string }
		Required             []string
		AdditionalProperties *bool
	}
	assert.NilError(t, json.Unmarshal(op.Spec().Input, &input))
	assert.Equal(t, input.Type, "object")
	assert.Equal(t, input.Properties["city"].Type, "string")
	assert.Equal(t, input.Properties["city"].Description, "City to look up.")
	assert.DeepEqual(t, input.Required, []string{"city"})
	assert.Assert(t, input.AdditionalProperties != nil && !*input.AdditionalProperties)
	assert.Assert(t, len(op.Spec().Output) > 0)
	for _, internal := range []string{"kind", "gate"} {
		_, there := input.Properties[internal]
		assert.Assert(t, !there)
	}
}

func TestRawTypesHaveNoInferredSchema(t *testing.T) {
	raw := func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }
	op, err := dispatch.NewOperation(
		dispatch.Spec{Name: "a.b", Summary: "S.", Type: dispatch.Read}, raw)
	assert.NilError(t, err)
	assert.Equal(t, string(op.Spec().Input), `{"type":"object","properties":{}}`)
	assert.Assert(t, op.Spec().Output == nil)
}

func TestGivenSchemasAreOnOneLineAndCopied(t *testing.T) {
	given := json.RawMessage("{\n \"type\": \"object\"\r\n}")
	example := json.RawMessage("{\n}")
	op, err := dispatch.NewOperation(
		dispatch.Spec{Name: "a.b", Summary: "S.", Type: dispatch.Read, Input: given, Output: given,
			Examples: []dispatch.Example{{Summary: "E", Input: example}}}, doNothing)
	assert.NilError(t, err)
	clear(given)
	clear(example)
	assert.Equal(t, string(op.Spec().Input), `{"type":"object","properties":{}}`)
	assert.Equal(t, string(op.Spec().Output), `{"type":"object"}`)
	assert.Equal(t, string(op.Spec().Examples[0].Input), `{}`)
}

func TestSpecIsCopied(t *testing.T) {
	codes := make([]dispatch.Code, 1, 8)
	codes[0] = dispatch.NotFound
	spec := dispatch.Spec{Name: "a.b", Summary: "S.", Type: dispatch.Read, Errors: codes}
	op, err := dispatch.NewOperation(spec,
		func(context.Context, instanceInput) (nothing, error) { return nothing{}, nil })
	assert.NilError(t, err)
	codes[0] = dispatch.StateError
	assert.Equal(t, codes[:2][1], dispatch.Code(""))
	assert.Equal(t, op.Description(), "S.\n\nErrors: not_found, unknown_instance")
}

func TestDescriptionEndsWithTheDeclaredCodes(t *testing.T) {
	with := newOperation(t, "a.a", func(s *dispatch.Spec) {
		s.Description = "All of it."
		s.Errors = []dispatch.Code{dispatch.StateError, dispatch.NotFound}
	})
	assert.Equal(t, with.Description(), "All of it.\n\nErrors: state_error, not_found")
	assert.Equal(t, newOperation(t, "a.a").Description(), "Does nothing.")
}

type branch struct {
	Name     string            `json:"name"`
	Labels   map[string]string `json:"labels"`
	Branches []*branch         `json:"branches"`
	Bytes    []byte            `json:"bytes"`
	Parent   *branch           `json:"parent"`
	Grid     [][]int           `json:"grid"`
	ByName   map[string][]int  `json:"by_name"`
	Any      any               `json:"any"`
	Raw      json.RawMessage   `json:"raw"`
	When     *time.Time        `json:"when"`
}

// A nil in the result is encoded as the output schema describes.
func TestNilsFitTheOutputSchema(t *testing.T) {
	full := branch{Name: "null", Branches: []*branch{{}, nil}, Parent: &branch{},
		Grid: [][]int{nil, {1}}, ByName: map[string][]int{"null": nil}}
	check := func(name string, op *dispatch.Operation, err error) {
		t.Run(name, func(t *testing.T) {
			assert.NilError(t, err)
			c := dispatch.NewCatalog()
			assert.NilError(t, c.Register(op))
			e := dispatch.Options{}.New(c).Dispatch(t.Context(),
				&dispatch.Call{Operation: op.Name()})
			assert.Assert(t, e.Err == nil, e.Err)
			assertFits(t, op.Spec().Output, e.Data)
		})
	}
	spec := dispatch.Spec{Name: "a.b", Summary: "S.", Type: dispatch.Read}
	op, err := returns(spec, full)
	check("inside", op, err)
	op, err = returns(spec, &full)
	check("pointer", op, err)
	op, err = returns(spec, branch{})
	check("zero", op, err)
	op, err = returns(spec, []string(nil))
	check("slice", op, err)
	op, err = returns(spec, map[string]int(nil))
	check("map", op, err)
	op, err = returns(spec, []byte(nil))
	check("bytes", op, err)
	op, err = returns[any](spec, nil)
	assert.NilError(t, err)
	assert.Assert(t, op.Spec().Output == nil)
}

func returns[Out any](spec dispatch.Spec, out Out) (*dispatch.Operation, error) {
	return dispatch.NewOperation(
		spec, func(context.Context, nothing) (Out, error) { return out, nil })
}

func assertFits(t *testing.T, text, data json.RawMessage) {
	t.Helper()
	s, err := schema.Compile(text)
	assert.NilError(t, err)
	err = s.Validate(data)
	assert.NilError(t, err, "%s", data)
}
