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
		`{"a":`:                     unexpected,
		`1 2`:                       unexpected,
		"\"\xff\"":                  unexpected,
	} {
		b := newBench(dispatch.Options{})
		does(b, func(context.Context, nothing) (json.RawMessage,
			error) {
			return json.RawMessage(in), nil
		})
		assert.Equal(t, string(b.call(t.Context(), ``).AppendJSON(nil)), want)
	}
}

func TestResultIsNotEscapedForHTML(t *testing.T) {
	b := newBench(dispatch.Options{})
	does(b, func(context.Context, nothing) (string, error) { return "<a&b>", nil })
	assert.Equal(t, string(b.call(t.Context(), ``).Data), `"<a&b>"`)
}

func TestResultThatDoesNotEncode(t *testing.T) {
	for name, fn := range map[string]func(context.Context, nothing) (any, error){
		"no JSON for it": func(context.Context, nothing) (any, error) {
			return make(chan int), nil
		},
		"broken raw part": func(context.Context, nothing) (any,
			error) {
			return []json.RawMessage{[]byte(`{`)}, nil
		},
		"raw part not UTF-8": func(context.Context, nothing) (any,
			error) {
			return []json.RawMessage{[]byte("\"\xff\"")}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(dispatch.Options{})
			does(b, fn)
			assert.Equal(t, string(b.call(t.Context(), ``).AppendJSON(nil)), unexpected)
			assert.Assert(t, strings.Contains(b.log.String(), "encode the result"), b.log.String())
		})
	}
}

func TestResultMustFitAGivenOutputSchema(t *testing.T) {
	b := newBench(dispatch.Options{})
	does(b, func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil },
		func(s *dispatch.Spec) { s.Output = json.RawMessage(`{"type":"object","required":["a"]}`) })
	assert.Equal(t, string(b.call(t.Context(), `{"a":1}`).Data), `{"a":1}`)
	assert.Equal(t, string(b.call(t.Context(), `{"b":"secret"}`).AppendJSON(nil)), unexpected)
	assert.Assert(t, strings.Contains(b.log.String(), "breaks the output schema"), b.log.String())
}
