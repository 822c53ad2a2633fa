package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

type query struct {
	City  string   `json:"city" doc:"City to look up."`
	Days  int8     `json:"days,omitempty" default:"3"`
	Units []string `json:"units,omitempty"`
}

func echo(_ context.Context, q query) (query, error) { return q, nil }

func returnRaw(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }

func TestArgumentsAreValidated(t *testing.T) {
	for _, tc := range []struct{ name, arguments, code, message, errors string }{
		{"missing", `{}`, "missing_param", `missing required property "city"`,
			`[{"path":"","property":"city"`},
		{"missing when absent", ``, "missing_param", `"city"`, `"property":"city"`},
		{"missing when null", `null`, "missing_param", `"city"`, `"property":"city"`},
		{"wrong type", `{"city":1}`, "invalid_input", "city must be a string, not 1",
			`[{"path":"/city","reason":"must be a string, not 1"}]`},
		{"missing and wrong", `{"days":"x"}`, "invalid_input", "days must be an integer, not \"x\"", `"path":"/days"`},
		{"nested", `{"city":"x","units":["a",2]}`, "invalid_input", "units[1] must be a string",
			`"path":"/units/1"`},
		{"unknown", `{"city":"x","town":"y"}`, "invalid_input", "town", `"property":"town"`},
		{"wrong case", `{"city":"x","City":"y"}`, "invalid_input", "City", `"property":"City"`},
		{"twice", `{"city":"x","city":"y"}`, "invalid_input", "city", `"reason":`},
		{"not an object", `[1]`, "invalid_input", "must be an object, not an array", `"path":""`},
		{"not JSON", `{"city":`, "invalid_input", "invalid JSON at byte 8", ""},
		{"two values", `{"city":"x"} {}`, "invalid_input", "invalid JSON", ""},
		{"not UTF-8", "{\"city\":\"\xff\"}", "invalid_input", "UTF-8", ""},
		{"out of the Go type's range", `{"city":"x","days":300}`, "invalid_input", "days must be at most 127, not 300",
			`"path":"/days"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fx := newFixture(dispatch.Options{})
			register(fx, func(context.Context, query) (nothing, error) {
				t.Error("it ran")
				return nothing{}, nil
			})
			e := fx.call(t.Context(), tc.arguments)
			assert.Assert(t, e.Err != nil)
			assert.Equal(t, string(e.Err.Code), tc.code)
			assert.Assert(t, e.Err.Recoverable)
			assert.Assert(t, strings.Contains(e.Err.Message, tc.message), e.Err.Message)
			if tc.errors != "" {
				details, ok := e.Err.Details.(json.RawMessage)
				assert.Assert(t, ok)
				assert.Assert(t, strings.Contains(string(details), `{"errors":[`) &&
					strings.Contains(string(details), tc.errors), string(details))
			}
			assert.Equal(t, fx.log.String(), "", "an error of the caller must not be logged")
		})
	}
}

func TestDefaultsAreFilledIn(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, echo)
	assert.Equal(t, string(fx.call(t.Context(), `{"city":"Oslo"}`).Data), `{"city":"Oslo","days":3}`)
	assert.Equal(t, string(fx.call(t.Context(), `{"city":"Oslo","days":0}`).Data), `{"city":"Oslo"}`)
	assert.Equal(t, string(fx.call(t.Context(), `{"city":"Oslo","days":5}`).Data),
		`{"city":"Oslo","days":5}`)
}

func TestDefaultsReachRawArguments(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, returnRaw, func(s *dispatch.Spec) {
		s.Input = json.RawMessage(
			`{"type":"object","properties":{"n":{"type":"integer","default":7},"s":{}}}`)
	})
	for arguments, want := range map[string]string{`{"s":1}`: `{"n":7,"s":1}`, ``: `{"n":7}`,
		`{"n":8}`: `{"n":8}`} {
		var got, wanted any
		assert.NilError(t, json.Unmarshal(fx.call(t.Context(), arguments).Data, &got))
		assert.NilError(t, json.Unmarshal([]byte(want), &wanted))
		assert.DeepEqual(t, got, wanted)
	}
	assert.Equal(t, fx.call(t.Context(), `{"n":"x"}`).Err.Code, dispatch.InvalidInput)
}

func TestRawArgumentsAreUnchanged(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, func(_ context.Context, in json.RawMessage) (string, error) {
		return string(in), nil
	})
	assert.Equal(t, string(fx.call(t.Context(), `{"n": 9007199254740993, "n":1e2}`).Data),
		`"{\"n\": 9007199254740993, \"n\":1e2}"`)
	assert.Equal(t, string(fx.call(t.Context(), ``).Data), `"{}"`)
	assert.Equal(t, fx.call(t.Context(), `[1]`).Err.Code, dispatch.InvalidInput)
	assert.Equal(t, fx.call(t.Context(), `{"n":}`).Err.Code, dispatch.InvalidInput)
}

func TestEmptyStructTakesNoArguments(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, doNothing)
	for _, arguments := range []string{``, `{}`, `null`} {
		assert.Equal(t, string(fx.call(t.Context(), arguments).AppendJSON(nil)),
			`{"success":true,"data":{},"error":null}`)
	}
	assert.Equal(t, fx.call(t.Context(), `{"a":1}`).Err.Code, dispatch.InvalidInput)
}

type paging struct {
	Limit int64 `json:"limit,omitempty"`
}

type upperText string

func (u *upperText) UnmarshalText(text []byte) error {
	switch string(text) {
	case "A":
		*u = upperText(text)
		return nil
	case "B":
		return dispatch.Errorf(dispatch.InvalidInput, "B is out of fashion")
	}
	return errors.New("secret")
}

// What the schema allows as an integer, decodes into a Go integer.
func TestIntegersInOtherNotations(t *testing.T) {
	for limit, want := range map[string]string{"10.0": "10", "1e1": "10", "1.5e1": "15",
		"-0.0": "0", "9007199254740993.0": "9007199254740993", "120e-1": "12"} {
		fx := newFixture(dispatch.Options{})
		register(fx, func(_ context.Context, in struct {
			Limit int64   `json:"limit" min:"0" max:"9007199254740993"`
			Many  []int16 `json:"many,omitempty"`
			Level int     `json:"level,omitempty" enum:"1,2"`
		}) (string, error) {
			return fmt.Sprint(in.Limit, in.Many, in.Level), nil
		})
		e := fx.call(t.Context(), `{"limit":`+limit+`,"many":[1.0,2e0],"level":2.0}`)
		assert.Assert(t, e.Err == nil, "%s: %v", limit, e.Err)
		assert.Equal(t, string(e.Data), `"`+want+` [1 2] 2"`)
		for _, refused := range []string{"10.5", "-1.0", "9007199254740994.0", "1e400"} {
			e = fx.call(t.Context(), `{"limit":`+refused+`}`)
			assert.Assert(t, e.Err != nil, "%s: %s", refused, e.Data)
			assert.Equal(t, e.Err.Code, dispatch.InvalidInput, refused)
		}
		e = fx.call(t.Context(), `{"limit":1,"level":3.0}`)
		assert.Equal(t, e.Err.Code, dispatch.InvalidInput)
	}
}

// A given input schema may allow arguments that the Go type does not.
func TestArgumentsThatOnlyTheSchemaAllows(t *testing.T) {
	type item struct {
		N int `json:"n"`
	}
	for _, tc := range []struct{ arguments, message, path string }{
		{`{"items":[{"n":1},{"n":1,"n":2}]}`, "invalid arguments: items[1].n: the key occurs twice",
			`"/items/1/n"`},
		{`{"x~/":1,"x\u007e/":2}`, "invalid arguments: [\"x~/\"]: the key occurs twice", `"/x~0~1"`},
		{`{"by":{"a":{},"a":{}}}`, "invalid arguments: by.a: the key occurs twice", `"/by/a"`},
		{`{"items":[{"n":"1"}]}`, "invalid arguments: items[0].n: want a number, not a string",
			`"/items/0/n"`},
		{`{"small":1e39}`, "invalid arguments: small must not be 1e39", `"/small"`},
	} {
		fx := newFixture(dispatch.Options{})
		register(fx, func(context.Context, struct {
			Items []item          `json:"items"`
			By    map[string]item `json:"by"`
			Small float32         `json:"small"`
		}) (nothing, error) {
			t.Error("it ran")
			return nothing{}, nil
		}, func(s *dispatch.Spec) { s.Input = json.RawMessage(`{"type":"object"}`) })
		e := fx.call(t.Context(), tc.arguments)
		assert.Equal(t, e.Err.Code, dispatch.InvalidInput, tc.arguments)
		assert.Equal(t, e.Err.Message, tc.message)
		assert.Assert(t,
			strings.Contains(string(e.Err.Details.(json.RawMessage)), `"path":`+tc.path), "%s",
			e.Err.Details)
	}
	// Keys match the names of fields exactly.
	fx := newFixture(dispatch.Options{})
	register(fx, echo, func(s *dispatch.Spec) { s.Input = json.RawMessage(`{"type":"object"}`) })
	assert.Equal(t, string(fx.call(t.Context(), `{"CITY":"x","city":"y","City":"z"}`).Data),
		`{"city":"y"}`)
}

// Even an inferred schema allows arguments that the Go type does not.
func TestArgumentsThatDoNotDecode(t *testing.T) {
	for _, tc := range []struct{ arguments, message, path string }{
		{`{"limit":1e19}`, "invalid arguments: limit must be a 64-bit integer, not 1e19",
			`"/limit"`},
		{`{"limit":99999999999999999999}`, "limit must be a 64-bit integer", `"/limit"`},
		{`{"limit":1` + strings.Repeat("0", 1000) + `}`,
			"limit must be a 64-bit integer, not 1000000", `"/limit"`},
		{`{"nested":{"limit":1e999999999999}}`,
			"nested.limit must be a 64-bit integer, not 1e999999999999", `"/nested/limit"`},
		{`{"upper":"B"}`, "B is out of fashion", ""},
		{`{"upper":"C"}`, "invalid arguments: they do not have the form that this operation takes",
			""},
	} {
		fx := newFixture(dispatch.Options{})
		register(fx, func(context.Context, struct {
			paging
			Nested paging    `json:"nested,omitzero"`
			Upper  upperText `json:"upper,omitempty"`
		}) (nothing, error) {
			t.Error("it ran")
			return nothing{}, nil
		})
		e := fx.call(t.Context(), tc.arguments)
		assert.Equal(t, e.Err.Code, dispatch.InvalidInput, tc.arguments)
		assert.Assert(t, len(e.Err.Message) < 200)
		assert.Assert(t, strings.Contains(e.Err.Message, tc.message), e.Err.Message)
		if tc.path != "" {
			assert.Assert(t,
				strings.Contains(string(e.Err.Details.(json.RawMessage)), `"path":`+tc.path), "%s",
				e.Err.Details)
		}
	}
}

func TestFormatsAreEnforced(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, func(_ context.Context, in struct {
		At time.Time `json:"at"`
	}) (int, error) {
		return in.At.Year(), nil
	})
	assert.Equal(t, string(fx.call(t.Context(), `{"at":"2026-07-28T00:00:00Z"}`).Data), `2026`)
	e := fx.call(t.Context(), `{"at":"yesterday"}`)
	assert.Equal(t, e.Err.Code, dispatch.InvalidInput)
	assert.Assert(t, strings.Contains(e.Err.Message, "at must be "), e.Err.Message)
}

func TestLenient(t *testing.T) {
	c := dispatch.NewCatalog()
	type input struct {
		Path  string  `json:"path"`
		Limit int     `json:"limit" default:"5"`
		Note  *string `json:"note,omitempty"`
	}
	dispatch.Add(c, dispatch.Spec{Name: "a.op", Summary: "Does.", Type: dispatch.Read},
		func(_ context.Context, in input) (string, error) {
			return fmt.Sprint(in.Path, in.Limit, in.Note == nil), nil
		})
	const arguments = `{"path":"x","limit":null,"note":null,"reason":"because"}`
	run := func(o dispatch.Options, arguments string) dispatch.Envelope {
		o.Logger = slog.New(slog.DiscardHandler)
		return o.New(c).Dispatch(t.Context(),
			&dispatch.Call{Operation: "a.op", Arguments: json.RawMessage(arguments)})
	}
	assert.Equal(t, run(dispatch.Options{}, arguments).Err.Code, dispatch.InvalidInput)
	assert.Equal(t, string(run(dispatch.Options{Lenient: true}, arguments).Data), `"x5 true"`)
	assert.Equal(t, run(dispatch.Options{Lenient: true}, `{"path":null}`).Err.Code, dispatch.MissingParam)
	assert.Equal(t, run(dispatch.Options{Lenient: true}, `{"path":7}`).Err.Code, dispatch.InvalidInput)
}
