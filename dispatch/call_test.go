package dispatch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

func TestContextCarriesTheCall(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	var logged bytes.Buffer
	var progress []string
	type key struct{}
	register(fx, func(ctx context.Context, _ nothing) (string, error) {
		dispatch.Progress(ctx, 1, 2, "half")
		dispatch.Logger(ctx).Info("hello")
		call := dispatch.CallFrom(context.WithValue(ctx, key{}, 1))
		call.Session = "opened"
		return fmt.Sprint(call.Principal, " ", call.RequestID, " ", call.Confirmed, " ",
			ctx.Value(key{})), nil
	})
	call := &dispatch.Call{
		Operation: "a.b", Principal: "me", RequestID: "r", Confirmed: true, Session: "given",
		Logger: slog.New(slog.NewTextHandler(&logged, nil)),
		Progress: func(done, total float64, message string) {
			progress = append(progress, fmt.Sprint(done, total, message))
		},
	}
	e := fx.Dispatch(context.WithValue(t.Context(), key{}, "outer"), call)
	assert.Equal(t, string(e.Data), `"me r true outer"`)
	assert.Equal(t, e.Session, "opened")
	assert.DeepEqual(t, progress, []string{"1 2half"})
	assert.Assert(t, strings.Contains(logged.String(), "hello"))
	assert.Equal(t, fx.log.String(), "")
}

func TestLoggerIsTheDispatchersIfTheCallHasNone(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, func(ctx context.Context, _ nothing) (nothing, error) {
		dispatch.Progress(ctx, 1, 2, "no Progress function")
		dispatch.Logger(ctx).Info("hello")
		return nothing{}, nil
	})
	assert.Assert(t, fx.call(t.Context(), ``).Err == nil)
	assert.Assert(t, strings.Contains(fx.log.String(), "hello"))
}

func TestOutsideOfACall(t *testing.T) {
	dispatch.Progress(t.Context(), 1, 2, "")
	assert.Assert(t, dispatch.CallFrom(t.Context()) == nil)
	assert.Equal(t, dispatch.Logger(t.Context()), slog.Default())
}

type instanceInput struct {
	dispatch.Instance
	Path string `json:"path,omitempty"`
}

func TestInstance(t *testing.T) {
	for _, tc := range []struct {
		call, arguments string
		want            string
		code            dispatch.Code
	}{
		{"", `{}`, `"main/main"`, ""},
		{"alt", `{}`, `"alt/alt"`, ""},
		{"", `{"instance":"alt"}`, `"alt/alt"`, ""},
		{"alt", `{"instance":"alt"}`, `"alt/alt"`, ""},
		{"main", `{"instance":"alt"}`, "", dispatch.InvalidInput},
		{"other", `{}`, "", dispatch.UnknownInstance},
		{"", `{"instance":"other"}`, "", dispatch.UnknownInstance},
	} {
		fx := newFixture(dispatch.Options{})
		roots, err := dispatch.NewInstances("main", map[string]string{"main": "main", "alt": "alt"})
		assert.NilError(t, err)
		register(fx, func(ctx context.Context, in instanceInput) (string, error) {
			root, err := roots.Get(in.Instance.Instance)
			ambient, _ := roots.Get(dispatch.CallFrom(ctx).Instance)
			return root + "/" + ambient, err
		})
		e := fx.Dispatch(t.Context(),
			&dispatch.Call{Operation: "a.b", Arguments: json.RawMessage(tc.arguments),
				Instance: tc.call})
		if tc.code != "" {
			assert.Assert(t, errors.Is(e.Err, tc.code), e.Err)
			continue
		}
		assert.Equal(t, string(e.Data), tc.want)
	}
}
