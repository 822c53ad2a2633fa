package dispatch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// For all arguments, the envelope is JSON on one line, no operation gets arguments that its schema
// refuses, and nothing panics.
func FuzzDispatch(f *testing.F) {
	for _, seed := range []string{``, `null`, `{}`, `{"text":"x"}`,
		`{"text":"x","n":1.0,"list":[null]}`, `{"text":`, "{\n}", "\xff", `{"text":"\ud800"}`,
		`[{}]`, `{"instance":"a","text":""}`} {
		f.Add([]byte(seed))
	}
	fx := newFixture(dispatch.Options{})
	schema := json.RawMessage(
		`{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer","default":1}},"required":["text"]}`)
	type typed struct {
		dispatch.Instance
		Text string `json:"text"`
		N    int8   `json:"n,omitempty" default:"5"`
		List []struct {
			M map[string]int `json:"m" default:"{}"`
		} `json:"list,omitempty"`
	}
	dispatch.Add(fx.Catalog, dispatch.Spec{Name: "typed", Summary: "S.", Type: dispatch.Read},
		func(_ context.Context, in typed) (typed, error) { return in, nil })
	dispatch.Add(fx.Catalog,
		dispatch.Spec{Name: "raw", Summary: "S.", Type: dispatch.Read, Input: schema},
		func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
			var seen struct {
				Text *string
				N    *json.Number
			}
			if err := json.Unmarshal(in, &seen); err != nil || seen.N == nil {
				return nil, dispatch.Errorf(dispatch.InternalError, "the operation saw %s", in)
			}
			return in, nil
		})
	f.Fuzz(func(t *testing.T, arguments []byte) {
		for _, name := range []string{"typed", "raw"} {
			fx.log.Reset()
			e := fx.Dispatch(t.Context(), &dispatch.Call{Operation: name, Arguments: arguments})
			answer := e.AppendJSON(nil)
			assert.NilError(t, jsonscan.Valid(answer), "%s", answer)
			assert.Assert(t, !bytes.ContainsAny(answer, "\r\n"))
			if e.Err != nil {
				assert.Assert(t, e.Err.Code == dispatch.InvalidInput ||
					e.Err.Code == dispatch.MissingParam, "%v\n%s", e.Err, fx.log.String())
			}
		}
	})
}
