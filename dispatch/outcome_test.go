package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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
		log  string // part of the log; "" if the log must be empty
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
		{"universal: invalid_input", dispatch.Errorf(dispatch.InvalidInput, "no such unit"),
			failure("invalid_input", "no such unit", "null", true), ""},
		{"universal: missing_param", dispatch.MissingParam,
			failure("missing_param", "A required argument is missing.", "null", true), ""},
		{"universal: permission_denied", dispatch.Errorf(dispatch.PermissionDenied, "no"),
			failure("permission_denied", "no", "null", false), ""},
		{"universal: blocked", dispatch.Errorf(dispatch.Blocked, "no"),
			failure("blocked", "no", "null", false), ""},
		{"universal: timeout", dispatch.Errorf(dispatch.Timeout, "too slow"),
			failure("timeout", "too slow", "null", true), ""},
		{"universal: cancelled", dispatch.Errorf(dispatch.Cancelled, "stop"),
			failure("cancelled", "stop", "null", true), ""},
		{"universal: internal_error", dispatch.Errorf(dispatch.InternalError, "chosen"),
			failure("internal_error", "chosen", "null", false), ""},
		{"not declared", dispatch.Errorf(dispatch.StateError, "secret"), withheldErrorJSON, "state_error"},
		{"not declared, unknown", dispatch.Errorf("made_up", "secret"), withheldErrorJSON, "made_up"},
		{"no code at all", &dispatch.Error{Message: "secret"}, withheldErrorJSON, "does not declare"},
		{"plain", plain, withheldErrorJSON, "secret: /home/u/.key"},
		{"deadline", context.DeadlineExceeded,
			failure("timeout", "the time allowed ran out", "null", true), ""},
		{"deadline, wrapped", fmt.Errorf("secret: %w", context.DeadlineExceeded),
			failure("timeout", "the time allowed ran out", "null", true), ""},
		{"cancelled, wrapped", fmt.Errorf("secret: %w", context.Canceled),
			failure("cancelled", "the call was cancelled", "null", true), ""},
		{"nil *Error in a non-nil error", (*dispatch.Error)(nil), failure("internal_error",
			"the operation returned a nil *dispatch.Error: return nil, not a variable of that type",
			"null", false), ""},
		{"details that do not encode", dispatch.Errorf(dispatch.NotFound, "no").With(func() {}),
			failure("not_found", "no", "null", true), "details of an error do not encode"},
		{"details that are null", dispatch.Errorf(dispatch.NotFound, "no").With((*int)(nil)),
			failure("not_found", "no", "null", true), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fx := newFixture(dispatch.Options{})
			assert.NilError(t, fx.Declare(app))
			register(fx, returnError(tc.err), withErrors(dispatch.NotFound, app.Code))
			e := fx.call(t.Context(), ``)
			assert.Equal(t, string(e.AppendJSON(nil)), tc.want)
			if tc.log == "" {
				assert.Equal(t, fx.log.String(), "")
				return
			}
			assert.Assert(t, strings.Contains(fx.log.String(), tc.log), fx.log.String())
			assert.Assert(t,
				strings.Contains(fx.log.String(), "operation=a.b surface=test request=r-7"),
				fx.log.String())
		})
	}
}

// ShowErrors shows each error that was returned, and nothing else.
func TestShowErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
		log  string
	}{
		"plain":        {errors.New("no file x"), "internal_error: no file x", ""},
		"wrapped":      {fmt.Errorf("x: %w", io.EOF), "internal_error: x: EOF", ""},
		"with a code":  {fmt.Errorf("x: %w", dispatch.Errorf(dispatch.NotFound, "no")), "not_found: no", ""},
		"translated":   {os.ErrPermission, "permission_denied: no", ""},
		"not declared": {dispatch.Errorf(dispatch.StateError, "stale"), "internal_error: stale", "does not declare"},
		"deadline":     {context.DeadlineExceeded, "timeout: the time allowed ran out", ""},
	} {
		fx := newFixture(dispatch.Options{ShowErrors: true, Translate: func(err error) error {
			if errors.Is(err, os.ErrPermission) {
				return dispatch.Errorf(dispatch.PermissionDenied, "no")
			}
			return err
		}})
		register(fx, returnError(tc.err), withErrors(dispatch.NotFound))
		e := fx.call(t.Context(), ``)
		assert.Equal(t, e.Err.Error(), tc.want, name)
		assert.Equal(t, fx.log.Len() > 0, tc.log != "", name)
		assert.Assert(t, strings.Contains(fx.log.String(), tc.log), name)
	}
	fx := newFixture(dispatch.Options{ShowErrors: true})
	register(fx, func(context.Context, nothing) (nothing, error) { panic("secret") })
	assert.Equal(t, string(fx.call(t.Context(), ``).AppendJSON(nil)), internalErrorJSON)
	d := dispatch.Options{ShowErrors: true,
		Missing: func(context.Context, string) error { return errors.New("it is down") }}.
		New(dispatch.NewCatalog())
	e := d.Dispatch(t.Context(), &dispatch.Call{Operation: "a.b"})
	assert.Equal(t, e.Err.Error(), "internal_error: it is down")

	fx = newFixture(dispatch.Options{})
	register(fx, returnError(errors.New("secret")))
	fx.call(t.Context(), ``)
	assert.Assert(t, strings.Contains(fx.log.String(), "ShowErrors"), fx.log.String())
}

func TestErrorsIsFindsTheCause(t *testing.T) {
	plain := errors.New("plain")
	fx := newFixture(dispatch.Options{})
	register(fx, returnError(plain))
	assert.Assert(t, errors.Is(fx.call(t.Context(), ``).Err, plain))
	assert.Assert(t, errors.Is(fx.call(t.Context(), ``).Err, dispatch.InternalError))
}

func TestSharedErrorIsNotChanged(t *testing.T) {
	shared := dispatch.Errorf("quota_exceeded", "x").With(map[string]int{"n": 1})
	fx := newFixture(dispatch.Options{})
	assert.NilError(t,
		fx.Declare(dispatch.CodeInfo{Code: "quota_exceeded", Recoverable: true, HTTPStatus: 429,
			ExitCode: 5, Summary: "Too much."}))
	register(fx, returnError(shared), withErrors("quota_exceeded"))
	assert.Assert(t, fx.call(t.Context(), ``).Err.Recoverable)
	assert.Assert(t, !shared.Recoverable)
	_, same := shared.Details.(map[string]int)
	assert.Assert(t, same)
}

type panicker struct{}

func (panicker) Error() string                { panic("bomb in Error") }
func (panicker) MarshalJSON() ([]byte, error) { panic("bomb in MarshalJSON") }
func (*panicker) UnmarshalJSON([]byte) error  { panic("bomb in UnmarshalJSON") }

// The method Error of selfPanicker panics with the error itself.
type selfPanicker struct{ panicker }

func (b selfPanicker) Error() string { panic(b) }

func TestPanicBecomesInternalError(t *testing.T) {
	boom := func(value any) func(context.Context, nothing) (any, error) {
		return func(context.Context, nothing) (any, error) { panic(value) }
	}
	for name, fn := range map[string]func(context.Context, nothing) (any, error){
		"string":                          boom("bomb: secret"),
		"error":                           boom(errors.New("bomb: secret")),
		"nil":                             boom(nil),
		"error whose method Error panics": boom(panicker{}),
		"error whose method Error panics with itself": boom(selfPanicker{}),
		"code":          boom(dispatch.Errorf(dispatch.NotFound, "bomb")),
		"in the result": func(context.Context, nothing) (any, error) { return panicker{}, nil },
		"in details": func(context.Context, nothing) (any, error) {
			return nil, dispatch.Errorf(dispatch.InvalidInput, "x").With(panicker{})
		},
		"runtime": func(context.Context, nothing) (any, error) {
			var m map[string]int
			m["bomb"] = 1
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(dispatch.Options{})
			register(fx, fn)
			assert.Equal(t, string(fx.call(t.Context(), ``).AppendJSON(nil)), internalErrorJSON)
			log := fx.log.String()
			assert.Assert(t, strings.Contains(log, "operation panicked") &&
				strings.Contains(log, "stack=") && strings.Contains(log, "dispatcher_test.go"), log)
		})
	}
}

func TestPanicWhileDecodingBecomesInternalError(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, func(context.Context, map[string]panicker) (nothing, error) {
		return nothing{}, nil
	}, func(s *dispatch.Spec) { s.Input = json.RawMessage(`{"type":"object"}`) })
	assert.Equal(t, string(fx.call(t.Context(), `{"a":1}`).AppendJSON(nil)), internalErrorJSON)
}

func TestErrorsIsFindsThePanicValue(t *testing.T) {
	cause := errors.New("cause")
	fx := newFixture(dispatch.Options{})
	register(fx, func(context.Context, nothing) (nothing, error) { panic(cause) })
	assert.Assert(t, errors.Is(fx.call(t.Context(), ``).Err, cause))
}
