package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

// The surface can say the session, and the arguments can. If they disagree nothing runs: one may
// have been used to decide whether it may.
func TestCallAndArgumentMustNotDisagree(t *testing.T) {
	type both struct {
		dispatch.Session
		dispatch.Instance
	}
	for _, tc := range []struct {
		arguments, session, instance string
		want                         string // session/instance, in the input and in the call
		path                         string
	}{
		{`{}`, "", "", "/ /", ""},
		{`{}`, "s", "i", "s/i s/i", ""},
		{`{"session":"s","instance":"i"}`, "", "", "s/i s/i", ""},
		{`{"session":"s"}`, "", "i", "s/i s/i", ""},
		{`{"session":"s","instance":"i"}`, "s", "i", "s/i s/i", ""},
		{`{"session":"s"}`, "other", "", "", "/session"},
		{`{"session":"s","instance":"i"}`, "s", "other", "", "/instance"},
	} {
		for name, add := range map[string]func(b *bench){
			"struct": func(b *bench) {
				does(b, func(ctx context.Context, in both) (string,
					error) {
					return seen(ctx, &in.Session, &in.Instance), nil
				})
			},
			"pointer": func(b *bench) {
				does(b, func(ctx context.Context, in *both) (string,
					error) {
					return seen(ctx, &in.Session, &in.Instance), nil
				})
			},
			"deep": func(b *bench) {
				type base struct{ both }
				does(b, func(ctx context.Context, in base) (string,
					error) {
					return seen(ctx, &in.Session, &in.Instance), nil
				})
			},
		} {
			b := newBench(dispatch.Options{})
			add(b)
			e := b.Dispatch(t.Context(),
				&dispatch.Call{Operation: "a.b", Arguments: json.RawMessage(tc.arguments),
					Session: tc.session, Instance: tc.instance})
			if tc.path == "" {
				assert.Equal(t, string(e.Data), `"`+tc.want+`"`, name)
				continue
			}
			assert.Equal(t, e.Err.Code, dispatch.InvalidInput, name)
			assert.Assert(t,
				strings.Contains(string(e.Err.Details.(json.RawMessage)), `{"errors":[{"path":"`+
					tc.path+`"`), "%s", e.Err.Details)
			assert.Assert(t, strings.Contains(e.Err.Message, `"other"`) &&
				strings.HasPrefix(e.Err.Message, "invalid arguments: "+tc.path[1:]+": "), e.Err.Message)
		}
	}
}

func seen(ctx context.Context, s *dispatch.Session, i *dispatch.Instance) string {
	call := dispatch.CallFrom(ctx)
	return s.Session + "/" + i.Instance + " " + call.Session + "/" + call.Instance
}

// A pointer could be nil.
func TestSessionAsAPointerIsRefused(t *testing.T) {
	_, err := dispatch.New(dispatch.Spec{Name: "a.b", Summary: "S.", Kind: dispatch.Read},
		func(context.Context, struct{ *dispatch.Session }) (nothing, error) {
			return nothing{}, nil
		})
	assert.ErrorContains(t, err, `operation "a.b": its input embeds dispatch.Session as a pointer`)
}

// What is embedded adds an optional argument to the input, of which a caller reads in the schema,
// and a code, of which it reads in the description; once, if the author declared it as well.
func TestSelectorsAreArguments(t *testing.T) {
	type both struct {
		dispatch.Instance
		dispatch.Session
		Text string `json:"text"`
	}
	op, err := dispatch.New(
		dispatch.Spec{Name: "a.b", Summary: "S.", Kind: dispatch.Read,
			Errors: []dispatch.Code{dispatch.NotRunning}},
		func(context.Context, both) (nothing, error) { return nothing{}, nil })
	assert.NilError(t, err)
	assert.Equal(t, op.Description(), "S.\n\nErrors: not_running, unknown_instance")
	var input struct {
		Properties map[string]struct{ Type, Description string }
		Required   []string
	}
	assert.NilError(t, json.Unmarshal(op.Input(), &input))
	assert.DeepEqual(t, input.Required, []string{"text"})
	for _, name := range []string{"instance", "session"} {
		assert.Equal(t, input.Properties[name].Type, "string")
		assert.Assert(t, input.Properties[name].Description != "")
	}
}

// An operation that embeds neither has no such argument, and what the surface says of them is left
// alone.
func TestOperationWithoutSelectors(t *testing.T) {
	b := newBench(dispatch.Options{})
	does(b, func(ctx context.Context, _ nothing) (string, error) {
		call := dispatch.CallFrom(ctx)
		return fmt.Sprint(call.Session, " ", call.Instance), nil
	})
	for _, name := range []string{"instance", "session"} {
		assert.Equal(t, b.call(t.Context(), fmt.Sprintf(`{%q:"x"}`, name)).Err.Code,
			dispatch.InvalidInput)
	}
	e := b.Dispatch(t.Context(), &dispatch.Call{Operation: "a.b", Session: "s", Instance: "i"})
	assert.Equal(t, string(e.Data), `"s i"`)
}
