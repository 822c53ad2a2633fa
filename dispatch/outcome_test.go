package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

func TestOperationErrors(t *testing.T) {
	app := dispatch.CodeInfo{Code: "quota_exceeded", Recoverable: true, HTTPStatus: 429,
		ExitCode: 5, Summary: "Too much."}
	plain := errors.New("secret: /home/u/.key")
	failure := func(code, message, details string, recoverable bool) string {
		return fmt.Sprintf(
			`{"success":false,"data":null,"error":{"code":%q,"message":%q,"details":%s,"recoverable":%t}}`,
			code, message, details, recoverable)
	}
	for _, tc := range []struct {
		name string
		err  error
		want string
		log  string // what the log must hold; "" for an empty log
	}{
		{"declared", dispatch.Errorf(dispatch.NotFound, "no %d", 1).With(map[string]int{"n": 1}),
			failure("not_found", "no 1", `{"n":1}`, true), ""},
		{"declared, wrapped", fmt.Errorf("secret: %w", dispatch.Errorf(dispatch.NotFound, "no")),
			failure("not_found", "no", "null", true), ""},
		{"declared, bare code", dispatch.NotFound,
			failure("not_found", "What the arguments name does not exist.", "null", true), ""},
		{"declared, bare code wrapped", fmt.Errorf("secret: %w", dispatch.NotFound),
			failure("not_found", "What the arguments name does not exist.", "null", true), ""},
		{"declared, not recoverable this time",
			dispatch.Errorf(dispatch.NotFound, "gone").WithRecoverable(false),
			failure("not_found", "gone", "null", false), ""},
		{"literal", &dispatch.Error{Code: dispatch.NotFound, Message: "m"},
			failure("not_found", "m", "null", false), ""},
		{"the application's", dispatch.Errorf("quota_exceeded", "9 of 9"),
			failure("quota_exceeded", "9 of 9", "null", true), ""},
		{"the application's, not recoverable this time",
			dispatch.Errorf("quota_exceeded", "9 of 9").WithRecoverable(false),
			failure("quota_exceeded", "9 of 9", "null", false), ""},
		{"the application's, bare", dispatch.Code("quota_exceeded"),
			failure("quota_exceeded", "Too much.", "null", true), ""},
		{"any may: invalid_input", dispatch.Errorf(dispatch.InvalidInput, "no such unit"),
			failure("invalid_input", "no such unit", "null", true), ""},
		{"any may: missing_param", dispatch.MissingParam,
			failure("missing_param", "A required argument is missing.", "null", true), ""},
		{"any may: permission_denied", dispatch.Errorf(dispatch.PermissionDenied, "no"),
			failure("permission_denied", "no", "null", false), ""},
		{"any may: blocked", dispatch.Errorf(dispatch.Blocked, "no"),
			failure("blocked", "no", "null", false), ""},
		{"any may: timeout", dispatch.Errorf(dispatch.Timeout, "too slow"),
			failure("timeout", "too slow", "null", true), ""},
		{"any may: cancelled", dispatch.Errorf(dispatch.Cancelled, "stop"),
			failure("cancelled", "stop", "null", true), ""},
		{"any may: internal_error", dispatch.Errorf(dispatch.InternalError, "chosen"),
			failure("internal_error", "chosen", "null", false), ""},
		{"not declared", dispatch.Errorf(dispatch.StateError, "secret"), unexpected, "state_error"},
		{"not declared, unknown", dispatch.Errorf("made_up", "secret"), unexpected, "made_up"},
		{"no code at all", &dispatch.Error{Message: "secret"}, unexpected, "does not declare"},
		{"plain", plain, unexpected, "secret: /home/u/.key"},
		{"deadline", context.DeadlineExceeded,
			failure("timeout", "the time allowed ran out", "null", true), ""},
		{"deadline, wrapped", fmt.Errorf("secret: %w", context.DeadlineExceeded),
			failure("timeout", "the time allowed ran out", "null", true), ""},
		{"cancelled, wrapped", fmt.Errorf("secret: %w", context.Canceled),
			failure("cancelled", "the call was cancelled", "null", true), ""},
		{"nil *Error that is not a nil error", (*dispatch.Error)(nil), unexpected,
			"operation panicked"},
		{"details that do not encode", dispatch.Errorf(dispatch.NotFound, "no").With(func() {}),
			failure("not_found", "no", "null", true), "details of an error do not encode"},
		{"details that are null", dispatch.Errorf(dispatch.NotFound, "no").With((*int)(nil)),
			failure("not_found", "no", "null", true), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(dispatch.Options{})
			assert.NilError(t, b.Declare(app))
			does(b, fails(tc.err), declares(dispatch.NotFound, app.Code))
			e := b.call(t.Context(), ``)
			assert.Equal(t, string(e.AppendJSON(nil)), tc.want)
			if tc.log == "" {
				assert.Equal(t, b.log.String(), "")
				return
			}
			assert.Assert(t, strings.Contains(b.log.String(), tc.log), b.log.String())
			assert.Assert(t,
				strings.Contains(b.log.String(), "operation=a.b surface=test request=r-7"),
				b.log.String())
		})
	}
}

func TestCauseStaysWithinReachOfGo(t *testing.T) {
	plain := errors.New("plain")
	b := newBench(dispatch.Options{})
	does(b, fails(plain))
	assert.Assert(t, errors.Is(b.call(t.Context(), ``).Err, plain))
	assert.Assert(t, errors.Is(b.call(t.Context(), ``).Err, dispatch.InternalError))
}

func TestSharedErrorIsNotChanged(t *testing.T) {
	shared := dispatch.Errorf("quota_exceeded", "x").With(map[string]int{"n": 1})
	b := newBench(dispatch.Options{})
	assert.NilError(t,
		b.Declare(dispatch.CodeInfo{Code: "quota_exceeded", Recoverable: true, HTTPStatus: 429,
			ExitCode: 5, Summary: "Too much."}))
	does(b, fails(shared), declares("quota_exceeded"))
	assert.Assert(t, b.call(t.Context(), ``).Err.Recoverable)
	assert.Assert(t, !shared.Recoverable)
	_, same := shared.Details.(map[string]int)
	assert.Assert(t, same)
}

type bomb struct{}

func (bomb) Error() string                { panic("bomb in Error") }
func (bomb) MarshalJSON() ([]byte, error) { panic("bomb in MarshalJSON") }
func (*bomb) UnmarshalJSON([]byte) error  { panic("bomb in UnmarshalJSON") }

// bombs panics with itself when it is to say what it is.
type bombs struct{ bomb }

func (b bombs) Error() string { panic(b) }

func TestPanicBecomesInternalError(t *testing.T) {
	boom := func(value any) func(context.Context, nothing) (any, error) {
		return func(context.Context, nothing) (any, error) { panic(value) }
	}
	for name, fn := range map[string]func(context.Context, nothing) (any, error){
		"string":        boom("bomb: secret"),
		"error":         boom(errors.New("bomb: secret")),
		"nil":           boom(nil),
		"bad error":     boom(bomb{}),
		"worse error":   boom(bombs{}),
		"code":          boom(dispatch.Errorf(dispatch.NotFound, "bomb")),
		"in the result": func(context.Context, nothing) (any, error) { return bomb{}, nil },
		"in details": func(context.Context, nothing) (any, error) {
			return nil, dispatch.Errorf(dispatch.InvalidInput, "x").With(bomb{})
		},
		"runtime": func(context.Context, nothing) (any,
			error) {
			var m map[string]int
			m["bomb"] = 1
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(dispatch.Options{})
			does(b, fn)
			assert.Equal(t, string(b.call(t.Context(), ``).AppendJSON(nil)), unexpected)
			log := b.log.String()
			assert.Assert(t, strings.Contains(log, "operation panicked") &&
				strings.Contains(log, "stack=") && strings.Contains(log, "dispatcher_test.go"), log)
		})
	}
}

func TestPanicWhileDecodingBecomesInternalError(t *testing.T) {
	b := newBench(dispatch.Options{})
	does(b, func(_ context.Context, in map[string]bomb) (nothing, error) { return nothing{}, nil },
		func(s *dispatch.Spec) { s.Input = json.RawMessage(`{"type":"object"}`) })
	assert.Equal(t, string(b.call(t.Context(), `{"a":1}`).AppendJSON(nil)), unexpected)
}

func TestPanicValueIsWithinReachOfGo(t *testing.T) {
	cause := errors.New("cause")
	b := newBench(dispatch.Options{})
	does(b, func(context.Context, nothing) (nothing, error) { panic(cause) })
	assert.Assert(t, errors.Is(b.call(t.Context(), ``).Err, cause))
}
