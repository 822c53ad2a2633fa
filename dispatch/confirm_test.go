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

// A destructive operation runs only if the call is confirmed. Arguments cannot confirm it.
func TestDestructiveOperationRunsOnlyWhenConfirmed(t *testing.T) {
	for name, change := range map[string]func(*dispatch.Spec){
		"by its kind": func(s *dispatch.Spec) { s.Type = dispatch.Destructive },
		"write":       func(s *dispatch.Spec) { s.Type, s.Destructive = dispatch.Write, true },
		"lifecycle":   func(s *dispatch.Spec) { s.Type, s.Destructive = dispatch.Lifecycle, true },
		"eval":        func(s *dispatch.Spec) { s.Type, s.Destructive = dispatch.Eval, true },
	} {
		t.Run(name, func(t *testing.T) {
			fx, ran := newFixture(dispatch.Options{}), 0
			register(fx, func(context.Context, nothing) (nothing, error) {
				ran++
				return nothing{}, nil
			}, change)
			op, _ := fx.Lookup("a.b")
			assert.Assert(t, op.Destructive())
			assert.Assert(t, op.Spec().Destructive)
			assert.Assert(t, strings.Contains(op.Description(), "confirmation_required"),
				op.Description())

			e := fx.Dispatch(t.Context(), &dispatch.Call{Operation: "a.b"})
			assert.Equal(t, string(e.AppendJSON(nil)),
				`{"success":false,"data":null,"error":{"code":"confirmation_required","message":"Does. This cannot be undone.","details":null,"recoverable":true}}`)
			assert.Equal(t, ran, 0)
			assert.Equal(t, fx.log.String(), "")
			assert.Equal(t, fx.call(t.Context(), `{"confirmed":true}`).Err.Code,
				dispatch.InvalidInput)
			assert.Equal(t, ran, 0)

			e = fx.Dispatch(t.Context(), &dispatch.Call{Operation: "a.b", Confirmed: true})
			assert.Assert(t, e.Err == nil, e.Err)
			assert.Equal(t, ran, 1)
		})
	}
}

func TestOtherOperationsNeedNoConfirmation(t *testing.T) {
	for _, kind := range []dispatch.Type{dispatch.Read, dispatch.Write, dispatch.Lifecycle,
		dispatch.Wait, dispatch.Eval} {
		fx := newFixture(dispatch.Options{})
		register(fx, doNothing, func(s *dispatch.Spec) { s.Type = kind })
		op, _ := fx.Lookup("a.b")
		assert.Assert(t, !op.Destructive(), kind)
		assert.Assert(t, fx.call(t.Context(), ``).Err == nil, kind)
	}
}

// An operation that changes nothing cannot be destructive.
func TestDestructiveReadIsRefused(t *testing.T) {
	for _, kind := range []dispatch.Type{dispatch.Read, dispatch.Wait} {
		_, err := dispatch.NewOperation(
			dispatch.Spec{Name: "a.b", Summary: "S.", Type: kind, Destructive: true}, doNothing)
		assert.ErrorContains(t, err, `dispatch: operation "a.b": it is destructive and of type `+
			string(kind))
	}
}

// A call that cannot run does not ask for confirmation.
func TestFailuresOfTheArgumentsComeBeforeConfirmation(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, echo, func(s *dispatch.Spec) { s.Type = dispatch.Destructive })
	assert.Equal(t, fx.call(t.Context(), `{}`).Err.Code, dispatch.MissingParam)
	assert.Equal(t, fx.call(t.Context(), `{"city":1}`).Err.Code, dispatch.InvalidInput)
	assert.Equal(t, fx.call(t.Context(), `{"city":"Oslo"}`).Err.Code, dispatch.ConfirmationRequired)

	fx = newFixture(dispatch.Options{})
	register(fx, func(_ context.Context, in struct {
		Days int8 `json:"days"`
	}) (int8, error) {
		return in.Days, nil
	}, func(s *dispatch.Spec) { s.Type = dispatch.Destructive })
	// the schema allows 1.0, and the Go type does not
	assert.Equal(t, fx.call(t.Context(), `{"days":1e30}`).Err.Code, dispatch.InvalidInput)

	fx = newFixture(dispatch.Options{})
	register(fx, echo, func(s *dispatch.Spec) { s.Type, s.Destructive = dispatch.Eval, true })
	assert.Equal(t, fx.call(t.Context(), `{"city":"sudo"}`).Err.Code, dispatch.Blocked)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, fx.call(ctx, `{"city":"Oslo"}`).Err.Code, dispatch.Cancelled)
}

// An operation that is destructive only for some arguments declares the code, and calls Confirm for
// these.
func TestConfirmForSomeArguments(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	replaced := 0
	register(fx, func(ctx context.Context, in struct {
		Name string `json:"name"`
	}) (nothing, error) {
		if in.Name == "old" {
			if err := dispatch.Confirm(ctx, "This replaces %q, 100%%.", in.Name); err != nil {
				return nothing{}, err
			}
			replaced++
		}
		return nothing{}, nil
	}, func(s *dispatch.Spec) { s.Type = dispatch.Write },
		withErrors(dispatch.ConfirmationRequired))
	op, _ := fx.Lookup("a.b")
	assert.Assert(t, op.Destructive(), "surfaces must expect to be asked")
	assert.Assert(t, !op.Spec().Destructive, "the dispatcher must not ask")

	assert.Assert(t, fx.call(t.Context(), `{"name":"new"}`).Err == nil)
	e := fx.call(t.Context(), `{"name":"old"}`)
	assert.Equal(t, e.Err.Code, dispatch.ConfirmationRequired)
	assert.Equal(t, e.Err.Message, `This replaces "old", 100%.`)
	assert.Assert(t, e.Err.Recoverable)
	assert.Equal(t, replaced, 0)

	e = fx.Dispatch(t.Context(),
		&dispatch.Call{Operation: "a.b", Arguments: json.RawMessage(`{"name":"old"}`),
			Confirmed: true})
	assert.Assert(t, e.Err == nil, e.Err)
	assert.Equal(t, replaced, 1)
}

// Outside of a call, nothing needs to be confirmed.
func TestConfirmOutsideOfACall(t *testing.T) {
	assert.NilError(t, dispatch.Confirm(t.Context(), "This replaces %q.", "a"))
}

// Surfaces learn from the declared code that an operation may ask for confirmation, so Confirm
// fails without it.
func TestConfirmWithoutDeclaringTheCode(t *testing.T) {
	fx := newFixture(dispatch.Options{})
	register(fx, func(ctx context.Context, _ nothing) (nothing, error) {
		return nothing{}, dispatch.Confirm(ctx, "secret")
	})
	assert.Equal(t, string(fx.call(t.Context(), ``).AppendJSON(nil)), withheldErrorJSON)
	assert.Assert(t, strings.Contains(fx.log.String(), "code=confirmation_required"), fx.log.String())
	e := fx.Dispatch(t.Context(), &dispatch.Call{Operation: "a.b", Confirmed: true})
	assert.Assert(t, e.Err == nil, "Confirm must return nil for a confirmed call")
}

// An operation that replaces data only if the file exists asks for confirmation only then.
func ExampleConfirm() {
	files := map[string]string{"a.txt": "old"}
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "file.write", Summary: "Write a file.", Type: dispatch.Write,
			Errors: []dispatch.Code{dispatch.ConfirmationRequired}},
		func(ctx context.Context, in struct {
			Name string `json:"name"`
			Text string `json:"text"`
		}) (string, error) {
			if _, exists := files[in.Name]; exists {
				if err := dispatch.Confirm(ctx, "This replaces %q.", in.Name); err != nil {
					return "", err
				}
			}
			files[in.Name] = in.Text
			return "written", nil
		})

	dispatcher := dispatch.Options{}.New(catalog)
	arguments := json.RawMessage(`{"name":"a.txt","text":"new"}`)
	for _, confirmed := range []bool{false, true} { // a surface asks a person before it calls again
		envelope := dispatcher.Dispatch(context.Background(),
			&dispatch.Call{Operation: "file.write", Arguments: arguments, Confirmed: confirmed})
		fmt.Printf("%s\n", envelope.AppendJSON(nil))
	}
	// Output:
	// {"success":false,"data":null,"error":{"code":"confirmation_required","message":"This replaces \"a.txt\".","details":null,"recoverable":true}}
	// {"success":true,"data":"written","error":null}
}
