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

// The call and the arguments can both name a session. If they differ, nothing runs, because an
// interceptor may have checked only one of them.
func TestCallAndArgumentMustNotDisagree(t *testing.T) {
	type both struct {
		dispatch.Session
		dispatch.Instance
	}
	for _, tc := range []struct {
		arguments, session, instance string
		want                         string // "session/instance" of the input, and of the call
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
		for name, add := range map[string]func(fx *fixture){
			"struct": func(fx *fixture) {
				register(fx, func(ctx context.Context, in both) (string, error) {
					return selectedValues(ctx, &in.Session, &in.Instance), nil
				})
			},
			"pointer": func(fx *fixture) {
				register(fx, func(ctx context.Context, in *both) (string, error) {
					return selectedValues(ctx, &in.Session, &in.Instance), nil
				})
			},
			"deep": func(fx *fixture) {
				type base struct{ both }
				register(fx, func(ctx context.Context, in base) (string, error) {
					return selectedValues(ctx, &in.Session, &in.Instance), nil
				})
			},
		} {
			fx := newFixture(dispatch.Options{})
			add(fx)
			e := fx.Dispatch(t.Context(),
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
				strings.HasPrefix(e.Err.Message, "invalid arguments: "+tc.path[1:]+" must be "),
				e.Err.Message)
		}
	}
}

func selectedValues(ctx context.Context, s *dispatch.Session, i *dispatch.Instance) string {
	call := dispatch.CallFrom(ctx)
	return s.Session + "/" + i.Instance + " " + call.Session + "/" + call.Instance
}

// An embedded pointer could be nil.
func TestSessionAsAPointerIsRefused(t *testing.T) {
	_, err := dispatch.NewOperation(dispatch.Spec{Name: "a.b", Summary: "S.", Type: dispatch.Read},
		func(context.Context, struct{ *dispatch.Session }) (nothing, error) {
			return nothing{}, nil
		})
	assert.ErrorContains(t, err, `operation "a.b": its input embeds dispatch.Session as a pointer`)
}

// An embedded Session or Instance adds an optional argument to the input, and a code to the
// description, unless the spec already declares the code.
func TestSelectorsAreArguments(t *testing.T) {
	type both struct {
		dispatch.Instance
		dispatch.Session
		Text string `json:"text"`
	}
	op, err := dispatch.NewOperation(
		dispatch.Spec{Name: "a.b", Summary: "S.", Type: dispatch.Read,
			Errors: []dispatch.Code{dispatch.NotRunning}},
		func(context.Context, both) (nothing, error) { return nothing{}, nil })
	assert.NilError(t, err)
	assert.Equal(t, op.Description(), "S.\n\nErrors: not_running, unknown_instance")
	var input struct {
		Properties map[string]struct{ Type, Description string }
		Required   []string
	}
	assert.NilError(t, json.Unmarshal(op.Spec().Input, &input))
	assert.DeepEqual(t, input.Required, []string{"text"})
	for _, name := range []string{"instance", "session"} {
		assert.Equal(t, input.Properties[name].Type, "string")
		assert.Assert(t, input.Properties[name].Description != "")
	}
}

// An operation that embeds neither has no such argument, and the values in the call do not change.
func TestOperationWithoutSelectors(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, func(ctx context.Context, _ nothing) (string, error) {
		call := dispatch.CallFrom(ctx)
		return fmt.Sprint(call.Session, " ", call.Instance), nil
	})
	for _, name := range []string{"instance", "session"} {
		assert.Equal(t, fx.call(t.Context(), fmt.Sprintf(`{%q:"x"}`, name)).Err.Code,
			dispatch.InvalidInput)
	}
	e := fx.Dispatch(t.Context(), &dispatch.Call{Operation: "a.b", Session: "s", Instance: "i"})
	assert.Equal(t, string(e.Data), `"s i"`)
}
