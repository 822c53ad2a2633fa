package dispatch_test

import (
	"context"
	"encoding/json"
	"math/big"
	"net/url"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/schema"
)

type portable struct {
	List  []string       `json:"list"`
	Map   map[string]int `json:"map"`
	Bytes []byte         `json:"bytes"`
	Note  *string        `json:"note"`
	Items []*int         `json:"items"`
	Wait  time.Duration  `json:"wait" default:"5m"`
	Where *url.URL       `json:"where"`
	Sum   big.Int        `json:"sum,omitempty"`
	Raw   json.RawMessage
}

// A result matches the inferred schema, even the zero value.
func TestResultFitsTheInferredSchema(t *testing.T) {
	note := "n"
	for _, v := range []portable{
		{},
		{List: []string{"a"}, Map: map[string]int{"a": 1}, Bytes: []byte("ab"), Note: &note,
			Items: []*int{nil, new(int)}, Wait: -1500 * time.Nanosecond, Where: &url.URL{Path: "/a"},
			Sum: *big.NewInt(-5), Raw: json.RawMessage(`{}`)},
	} {
		fx := newFixture(dispatch.Options{})
		register(fx, func(context.Context, portable) (portable, error) { return v, nil })
		op, ok := fx.Lookup("a.b")
		assert.Assert(t, ok)
		data := fx.call(t.Context(), `{"list":[],"map":{},"bytes":"","items":[],"Raw":1}`).Data
		s, err := schema.Options{AssertFormats: true}.Compile(op.Spec().Output)
		assert.NilError(t, err)
		assert.NilError(t, s.Validate(data), "%s %s", op.Spec().Output, data)
	}
}

// Null is accepted for a pointer, although the published schema does not allow it. A duration is a
// string, even as a default.
func TestArgumentsOfPortableTypes(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	var got portable
	register(fx, func(_ context.Context, in portable) (struct{}, error) {
		got = in
		return struct{}{}, nil
	})
	const rest = `"list":[],"map":{},"bytes":"","items":[],"Raw":1`
	assert.Assert(t, fx.call(t.Context(), `{"note":null,"where":"/a",`+rest+`}`).Err == nil)
	assert.Assert(t, got.Note == nil && got.Where.Path == "/a" && got.Wait == 5*time.Minute)
	assert.Assert(t, fx.call(t.Context(), `{"wait":"1h",`+rest+`}`).Err == nil)
	assert.Equal(t, got.Wait, time.Hour)
	for _, arguments := range []string{`{"wait":5,`, `{"wait":"soon",`, `{"wait":null,`} {
		assert.Assert(t, fx.call(t.Context(), arguments+rest+`}`).Err != nil, arguments)
	}
	op, _ := fx.Lookup("a.b")
	published, err := schema.Compile(op.Spec().Input)
	assert.NilError(t, err)
	assert.ErrorContains(t, published.Validate([]byte(`{"note":null,`+rest+`}`)), "note must be a string, not null")
}
