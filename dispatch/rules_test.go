package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

// Rules of the package documentation that no other test covers.

var kinds = []dispatch.Type{dispatch.Read, dispatch.Write, dispatch.Destructive, dispatch.Lifecycle,
	dispatch.Wait, dispatch.Eval}

// New checks that the kind is from the closed set, so that a wrong one fails when the program
// starts.
func TestKindIsFromAClosedSet(t *testing.T) {
	for _, kind := range kinds {
		_, err := dispatch.NewOperation(
			dispatch.Spec{Name: "a.b", Summary: "S.", Type: kind}, doNothing)
		assert.NilError(t, err)
	}
	for _, kind := range []dispatch.Type{"", "Read", "read ", "execute", "query", "\x00"} {
		_, err := dispatch.NewOperation(
			dispatch.Spec{Name: "a.b", Summary: "S.", Type: kind}, doNothing)
		assert.ErrorContains(t, err,
			fmt.Sprintf(`operation "a.b": the type %q is not one of [read write destructive lifecycle wait eval]`,
				kind))
	}
}

// The kind, the gate and other metadata are not part of the input; sending them is an error.
func TestMetadataIsNeverInput(t *testing.T) {
	for _, kind := range kinds {
		op, err := dispatch.NewOperation(
			dispatch.Spec{Name: "a.b", Summary: "S.", Type: kind, Gate: dispatch.GateEval,
				Idempotent: true, OpenWorld: true},
			func(context.Context, sessionInput) (nothing, error) { return nothing{}, nil })
		assert.NilError(t, err)
		var input struct{ Properties map[string]any }
		assert.NilError(t, json.Unmarshal(op.Spec().Input, &input))
		assert.Equal(t, len(input.Properties), 2, "%s", op.Spec().Input)
		c := dispatch.NewCatalog(dispatch.GateEval)
		assert.NilError(t, c.Register(op))
		d := dispatch.Options{}.New(c)
		for _, name := range []string{"kind", "gate", "destructive", "confirmed", "principal",
			"operation"} {
			e := d.Dispatch(t.Context(),
				&dispatch.Call{Operation: "a.b",
					Arguments: json.RawMessage(`{"` + name + `":"read"}`)})
			assert.Assert(t, e.Err != nil && e.Err.Code == dispatch.InvalidInput,
				"%s %s: %v", kind, name, e.Err)
		}
	}
}

// An unknown property is an error at every depth, which names it.
func TestInferredSchemasAreClosed(t *testing.T) {
	type part struct {
		N int `json:"n,omitempty"`
	}
	fx := newFixture(dispatch.Options{})
	register(fx, func(context.Context, struct {
		Part  part            `json:"part,omitzero"`
		Parts []part          `json:"parts,omitempty"`
		By    map[string]part `json:"by,omitempty"`
	}) (nothing, error) {
		return nothing{}, nil
	})
	for arguments, path := range map[string]string{
		`{"x":1}`:                `"path":"","property":"x"`,
		`{"part":{"x":1}}`:       `"path":"/part","property":"x"`,
		`{"parts":[{},{"x":1}]}`: `"path":"/parts/1","property":"x"`,
		`{"by":{"k":{"x":1}}}`:   `"path":"/by/k","property":"x"`,
	} {
		e := fx.call(t.Context(), arguments)
		assert.Assert(t, e.Err != nil && e.Err.Code == dispatch.InvalidInput, arguments)
		assert.Assert(t, strings.Contains(string(e.Err.Details.(json.RawMessage)), path), "%s",
			e.Err.Details)
	}
	assert.Assert(t, fx.call(t.Context(), `{"by":{"any key":{"n":1}}}`).Err == nil)
}

// The description ends with the declared codes, including those that follow from the kind and the
// input.
func TestDescriptionEndsWithTheCodesOfWhatItIs(t *testing.T) {
	kind := func(k dispatch.Type) dispatch.Spec { return dispatch.Spec{Type: k} }
	spec := func(s dispatch.Spec) dispatch.Spec { s.Name, s.Summary = "a.b", "S."; return s }
	for _, tc := range []struct {
		what string
		op   func() (*dispatch.Operation, error)
		want string
	}{
		{"of type write", func() (*dispatch.Operation, error) {
			return dispatch.NewOperation(spec(kind(dispatch.Write)), doNothing)
		}, ""},
		{"of type destructive", func() (*dispatch.Operation, error) {
			return dispatch.NewOperation(spec(kind(dispatch.Destructive)), doNothing)
		}, "confirmation_required"},
		{"of type eval", func() (*dispatch.Operation, error) {
			return dispatch.NewOperation(spec(kind(dispatch.Eval)), doNothing)
		}, "blocked"},
		{"with an instance", func() (*dispatch.Operation, error) {
			return dispatch.NewOperation(spec(kind(dispatch.Read)),
				func(context.Context, instanceInput) (nothing, error) { return nothing{}, nil })
		}, "unknown_instance"},
		{"with a session", func() (*dispatch.Operation, error) {
			return dispatch.NewOperation(spec(kind(dispatch.Read)),
				func(context.Context, sessionInput) (nothing, error) { return nothing{}, nil })
		}, "not_running"},
		{"all of these, after those of the spec", func() (*dispatch.Operation, error) {
			return dispatch.NewOperation(
				spec(dispatch.Spec{Type: dispatch.Eval, Destructive: true,
					Errors: []dispatch.Code{dispatch.NotFound, dispatch.Blocked}}),
				func(context.Context, struct {
					dispatch.Session
					dispatch.Instance
				}) (nothing, error) {
					return nothing{}, nil
				})
		}, "not_found, blocked, confirmation_required, unknown_instance, not_running"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			op, err := tc.op()
			assert.NilError(t, err)
			want := "S."
			if tc.want != "" {
				want += "\n\nErrors: " + tc.want
			}
			assert.Equal(t, op.Description(), want)
			c := dispatch.NewCatalog()
			assert.NilError(t, c.Register(op), "the catalog must have all these codes")
		})
	}
}

// A removed operation is unknown, but its running calls continue.
func TestRemovedOperationFinishesItsCalls(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	entered, leave := make(chan bool), make(chan bool)
	register(fx, func(context.Context, nothing) (string, error) {
		entered <- true
		<-leave
		return "done", nil
	})
	outcome := make(chan dispatch.Envelope)
	go func() { outcome <- fx.call(t.Context(), ``) }()
	<-entered
	assert.Equal(t, fx.Remove("a.b"), 1)
	assert.Equal(t, fx.call(t.Context(), ``).Err.Code, dispatch.UnknownOperation)
	leave <- true
	assert.Equal(t, string((<-outcome).Data), `"done"`)
}

// The steps of a call have this order, so that each can rely on the preceding ones.
func TestStepsOfACall(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	gated := newOperation(t, "a.gated", func(s *dispatch.Spec) { s.Gate = dispatch.GateEval })
	assert.NilError(t, fx.Register(gated))
	ran := 0
	register(fx, func(_ context.Context, in struct {
		Code string `json:"code"`
		N    int8   `json:"n,omitempty"`
	}) (string, error) {
		ran++
		return in.Code, nil
	}, func(s *dispatch.Spec) { s.Type, s.Destructive = dispatch.Eval, true })
	for _, tc := range []struct {
		step, operation, arguments string
		confirmed                  bool
		want                       dispatch.Code
	}{
		{"first the operation is looked up", "a.c", `{`, false, dispatch.UnknownOperation},
		{"an operation behind a closed gate is unknown", "a.gated", `{`, true, dispatch.UnknownOperation},
		{"then the arguments must be JSON", "a.b", `{"code":"sudo"`, false, dispatch.InvalidInput},
		{"then missing arguments", "a.b", `{}`, false, dispatch.MissingParam},
		{"then invalid arguments, even with blocked words", "a.b", `{"code":["sudo"]}`, false,
			dispatch.InvalidInput},
		{"then the blocklist, even if confirmed", "a.b", `{"code":"sudo"}`, true, dispatch.Blocked},
		{"then confirmation", "a.b", `{"code":"ls"}`, false, dispatch.ConfirmationRequired},
		{"then the operation", "a.b", `{"code":"ls"}`, true, ""},
	} {
		t.Run(tc.step, func(t *testing.T) {
			before := ran
			e := fx.Dispatch(t.Context(),
				&dispatch.Call{Operation: tc.operation, Arguments: json.RawMessage(tc.arguments),
					Confirmed: tc.confirmed})
			if tc.want == "" {
				assert.Equal(t, string(e.Data), `"ls"`, "the result must not change")
				assert.Equal(t, ran, before+1)
				return
			}
			assert.Equal(t, e.Err.Code, tc.want)
			assert.Equal(t, ran, before)
		})
	}
}

// An error lists all problems of the arguments, each with its path.
func TestAllProblemsAreReported(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, echo)
	e := fx.call(t.Context(), `{"days":"x","units":[1,"a",2]}`)
	assert.Equal(t, e.Err.Code, dispatch.InvalidInput)
	var details struct {
		Errors []struct{ Path, Property, Reason string }
	}
	assert.NilError(t, json.Unmarshal(e.Err.Details.(json.RawMessage), &details))
	paths := []string{}
	for _, problem := range details.Errors {
		assert.Assert(t, problem.Reason != "")
		paths = append(paths, problem.Path+" "+problem.Property)
	}
	slices.Sort(paths)
	assert.DeepEqual(t, paths, []string{" city", "/days ", "/units/0 ", "/units/2 "})
}

// The context of an operation carries the call, so that functions that the operation calls need no
// parameters for its fields.
func TestContextCarriesTheFieldsOfTheCall(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	callFields := func(ctx context.Context) string {
		call := dispatch.CallFrom(ctx)
		dispatch.Logger(ctx).Info("called")
		return strings.Join(
			[]string{call.Operation, call.Session, call.Instance, call.Principal, call.RequestID,
				call.Surface}, " ")
	}
	register(fx, func(ctx context.Context, _ sessionInput) (string, error) {
		return callFields(ctx), nil
	})
	e := fx.Dispatch(t.Context(),
		&dispatch.Call{Operation: "a.b", Session: "s", Instance: "i", Principal: "ann",
			RequestID: "7", Surface: "test"})
	assert.Equal(t, string(e.Data), `"a.b s i ann 7 test"`)
	assert.Assert(t, strings.Contains(fx.log.String(), "msg=called"))
}

// If an operation calls another one, each has its own call in its context, and its own envelope.
func TestNestedCall(t *testing.T) {
	s := newShellService(dispatch.SessionOptions[int]{})
	s.openAll(t, "a", "b")
	register(s.fixture, func(ctx context.Context, _ nothing) (string, error) {
		inner := s.Dispatch(ctx,
			&dispatch.Call{Operation: "shell.use", Arguments: json.RawMessage(`{"session":"a"}`),
				RequestID: "inner"})
		return inner.Session + dispatch.CallFrom(ctx).Session + dispatch.CallFrom(ctx).RequestID,
			nil
	})
	e := s.Dispatch(t.Context(), &dispatch.Call{Operation: "a.b", RequestID: "outer"})
	assert.Equal(t, string(e.Data), `"aouter"`)
	assert.Equal(t, e.Session, "")
}

// InvalidArgument and MissingArgument return errors of the same form as the dispatcher's
// validation.
func TestArgumentErrorsHaveTheDispatchersForm(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, func(_ context.Context, q query) (nothing, error) {
		if q.City == "missing" {
			return nothing{},
				dispatch.MissingArgument("units", "more than %d days need a unit", q.Days)
		}
		return nothing{},
			dispatch.InvalidArgument("/units/0", "there is no unit %q: %w", q.Units[0],
				fs.ErrNotExist)
	})
	for _, tc := range []struct {
		arguments string
		code      dispatch.Code
		message   string
		details   string
	}{
		{`{}`, dispatch.MissingParam, `invalid arguments: missing required property "city"`,
			`{"errors":[{"path":"","property":"city","reason":"missing required property \"city\""}]}`},
		{`{"city":"missing","days":9}`, dispatch.MissingParam,
			`invalid arguments: "units" is missing: more than 9 days need a unit`,
			`{"errors":[{"path":"","property":"units","reason":"more than 9 days need a unit"}]}`},
		{`{"city":"x","units":[1]}`, dispatch.InvalidInput,
			`invalid arguments: units[0] must be a string, not 1`,
			`{"errors":[{"path":"/units/0","reason":"must be a string, not 1"}]}`},
		{`{"city":"x","units":["ell"]}`, dispatch.InvalidInput,
			`invalid arguments: units[0]: there is no unit "ell": file does not exist`,
			`{"errors":[{"path":"/units/0","reason":"there is no unit \"ell\": file does not exist"}]}`},
	} {
		e := fx.call(t.Context(), tc.arguments)
		assert.Equal(t, e.Err.Code, tc.code)
		assert.Equal(t, e.Err.Message, tc.message)
		assert.Equal(t, string(e.Err.Details.(json.RawMessage)), tc.details)
		assert.Assert(t, e.Err.Recoverable)
		assert.Assert(t, errors.Is(e.Err, tc.code))
	}
	assert.Assert(t,
		errors.Is(fx.call(t.Context(), `{"city":"x","units":["ell"]}`).Err, fs.ErrNotExist),
		"errors.Is must find what %w wraps")
	assert.Equal(t, fx.log.String(), "")
}

type secretErrors struct{}

func (secretErrors) UnmarshalText([]byte) error   { return errors.New("secret") }
func (secretErrors) MarshalText() ([]byte, error) { return nil, errors.New("secret") }

// The caller sees no text of a cause that the operation did not choose to show.
func TestCausesDoNotLeak(t *testing.T) {
	secret := errors.New("secret")
	for name, err := range map[string]error{
		"plain": secret,
		"around a typed error": fmt.Errorf("secret: %w",
			dispatch.Errorf(dispatch.NotFound, "x")),
		"beside a typed error":    errors.Join(secret, dispatch.Errorf(dispatch.NotFound, "x")),
		"around a code":           fmt.Errorf("secret: %w: secret", dispatch.NotFound),
		"undeclared code":         dispatch.Errorf(dispatch.StateError, "secret").With("secret"),
		"around a cancelled call": fmt.Errorf("secret: %w", context.Canceled),
		"around a deadline":       errors.Join(secret, context.DeadlineExceeded),
	} {
		fx := newFixture(dispatch.Options{})
		register(fx, returnError(err), withErrors(dispatch.NotFound))
		e := fx.call(t.Context(), ``)
		assert.Assert(t, e.Err != nil)
		assert.Assert(t, !strings.Contains(string(e.AppendJSON(nil)), "secret"), "%s: %s", name,
			e.AppendJSON(nil))
	}
	fx := newFixture(dispatch.Options{})
	register(fx, func(context.Context, struct {
		S secretErrors `json:"s,omitzero"`
	}) (secretErrors, error) {
		return secretErrors{}, nil
	}, func(s *dispatch.Spec) { s.Input = json.RawMessage(`{"type":"object"}`) })
	for arguments, code := range map[string]dispatch.Code{`{"s":"x"}`: dispatch.InvalidInput,
		`{}`: dispatch.InternalError} {
		e := fx.call(t.Context(), arguments)
		assert.Equal(t, e.Err.Code, code)
		assert.Assert(t, !strings.Contains(string(e.AppendJSON(nil)), "secret"), "%s",
			e.AppendJSON(nil))
	}
}

// The error for an unknown instance lists all names.
func TestUnknownInstanceListsTheNames(t *testing.T) {
	roots, err := dispatch.NewInstances("main", map[string]string{"main": "/", "alt": "/alt"})
	assert.NilError(t, err)
	fx := newFixture(dispatch.Options{})
	register(fx, func(_ context.Context, in instanceInput) (string, error) {
		return roots.Get(in.Instance.Instance)
	})
	e := fx.call(t.Context(), `{"instance":"other"}`)
	assert.Equal(t, string(e.AppendJSON(nil)),
		`{"success":false,"data":null,"error":{"code":"unknown_instance","message":"no instance \"other\"; want one of alt, main",`+
			`"details":{"instances":["alt","main"]},"recoverable":true}}`)
}
