package dispatch_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

func TestRawResultIsCheckedAndOnOneLine(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                   `{"success":true,"data":{"a":1},"error":null}`,
		"{\n\"a\":\r\n [1, \"<\"]}": `{"success":true,"data":{"a":[1,"<"]},"error":null}`,
		``:                          `{"success":true,"data":null,"error":null}`,
		`{"a":`:                     withheldErrorJSON,
		`1 2`:                       withheldErrorJSON,
		"\"\xff\"":                  withheldErrorJSON,
	} {
		fx := newFixture(dispatch.Options{})
		register(fx, func(context.Context, nothing) (json.RawMessage, error) {
			return json.RawMessage(in), nil
		})
		assert.Equal(t, string(fx.call(t.Context(), ``).AppendJSON(nil)), want)
	}
}

func TestResultIsNotEscapedForHTML(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, func(context.Context, nothing) (string, error) { return "<a&b>", nil })
	assert.Equal(t, string(fx.call(t.Context(), ``).Data), `"<a&b>"`)
}

func TestResultThatDoesNotEncode(t *testing.T) {
	for name, fn := range map[string]func(context.Context, nothing) (any, error){
		"no JSON for it": func(context.Context, nothing) (any, error) {
			return make(chan int), nil
		},
		"broken raw part": func(context.Context, nothing) (any, error) {
			return []json.RawMessage{[]byte(`{`)}, nil
		},
		"raw part not UTF-8": func(context.Context, nothing) (any, error) {
			return []json.RawMessage{[]byte("\"\xff\"")}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(dispatch.Options{})
			register(fx, fn)
			assert.Equal(t, string(fx.call(t.Context(), ``).AppendJSON(nil)), withheldErrorJSON)
			assert.Assert(t, strings.Contains(fx.log.String(), "encode the result"), fx.log.String())
		})
	}
}

func TestResultMustFitAGivenOutputSchema(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, returnRaw, func(s *dispatch.Spec) {
		s.Output = json.RawMessage(`{"type":"object","required":["a"]}`)
	})
	assert.Equal(t, string(fx.call(t.Context(), `{"a":1}`).Data), `{"a":1}`)
	assert.Equal(t, string(fx.call(t.Context(), `{"b":"secret"}`).AppendJSON(nil)), withheldErrorJSON)
	assert.Assert(t, strings.Contains(fx.log.String(), "breaks the output schema"), fx.log.String())
}
