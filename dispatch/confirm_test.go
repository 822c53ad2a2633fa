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

// A destructive operation runs only when it was confirmed; the flag is on the call, never in the
// arguments.
func TestDestructiveOperationRunsOnlyWhenConfirmed(t *testing.T) {
	for name, change := range map[string]func(*dispatch.Spec){
		"by its kind": func(s *dispatch.Spec) { s.Kind = dispatch.Destructive },
		"write":       func(s *dispatch.Spec) { s.Kind, s.Destructive = dispatch.Write, true },
		"lifecycle":   func(s *dispatch.Spec) { s.Kind, s.Destructive = dispatch.Lifecycle, true },
		"eval":        func(s *dispatch.Spec) { s.Kind, s.Destructive = dispatch.Eval, true },
	} {
		t.Run(name, func(t *testing.T) {
			b, ran := newBench(dispatch.Options{}), 0
			does(b, func(context.Context, nothing) (nothing, error) {
				ran++
				return nothing{}, nil
			}, change)
			op, _ := b.Lookup("a.b")
			assert.Assert(t, op.Destructive())
			assert.Assert(t, op.Spec().Destructive)
			assert.Assert(t, strings.Contains(op.Description(), "confirmation_required"),
				op.Description())

			e := b.Dispatch(t.Context(), &dispatch.Call{Operation: "a.b"})
			assert.Equal(t, string(e.AppendJSON(nil)),
				`{"success":false,"data":null,"error":{"code":"confirmation_required","message":"Does. This cannot be undone.","details":null,"recoverable":true}}`)
			assert.Equal(t, ran, 0)
			assert.Equal(t, b.log.String(), "")
			assert.Equal(t, b.call(t.Context(), `{"confirmed":true}`).Err.Code,
				dispatch.InvalidInput)
			assert.Equal(t, ran, 0)

			e = b.Dispatch(t.Context(), &dispatch.Call{Operation: "a.b", Confirmed: true})
			assert.Assert(t, e.Success(), e.Err)
			assert.Equal(t, ran, 1)
		})
	}
}

func TestOtherOperationsNeedNoConfirmation(t *testing.T) {
	for _, kind := range []dispatch.Kind{dispatch.Read, dispatch.Write, dispatch.Lifecycle,
		dispatch.Wait, dispatch.Eval} {
		b := newBench(dispatch.Options{})
		does(b, idle, func(s *dispatch.Spec) { s.Kind = kind })
		op, _ := b.Lookup("a.b")
		assert.Assert(t, !op.Destructive(), kind)
		assert.Assert(t, b.call(t.Context(), ``).Success(), kind)
	}
}

// What changes nothing cannot be destructive.
func TestDestructiveReadIsRefused(t *testing.T) {
	for _, kind := range []dispatch.Kind{dispatch.Read, dispatch.Wait} {
		_, err := dispatch.New(
			dispatch.Spec{Name: "a.b", Summary: "S.", Kind: kind, Destructive: true}, idle)
		assert.ErrorContains(t, err, `dispatch: operation "a.b": it is destructive and of kind `+
			string(kind))
	}
}

// Nobody is asked to confirm what cannot run anyway.
func TestFailuresOfTheArgumentsComeBeforeConfirmation(t *testing.T) {
	b := newBench(dispatch.Options{})
	does(b, echo, func(s *dispatch.Spec) { s.Kind = dispatch.Destructive })
	assert.Equal(t, b.call(t.Context(), `{}`).Err.Code, dispatch.MissingParam)
	assert.Equal(t, b.call(t.Context(), `{"city":1}`).Err.Code, dispatch.InvalidInput)
	assert.Equal(t, b.call(t.Context(), `{"city":"Oslo"}`).Err.Code, dispatch.ConfirmationRequired)

	b = newBench(dispatch.Options{})
	does(b, func(_ context.Context, in struct {
		Days int8 `json:"days"`
	}) (int8, error) {
		return in.Days, nil
	}, func(s *dispatch.Spec) { s.Kind = dispatch.Destructive })
	// which the schema allows, and the type does not
	assert.Equal(t, b.call(t.Context(), `{"days":1.0}`).Err.Code, dispatch.InvalidInput)

	b = newBench(dispatch.Options{})
	does(b, echo, func(s *dispatch.Spec) { s.Kind, s.Destructive = dispatch.Eval, true })
	assert.Equal(t, b.call(t.Context(), `{"city":"sudo"}`).Err.Code, dispatch.Blocked)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, b.call(ctx, `{"city":"Oslo"}`).Err.Code, dispatch.Cancelled)
}

// An operation whose calls are destructive only at times says so by the code that it declares,
// looks, and asks.
func TestConfirmAtTimes(t *testing.T) {
	b := newBench(dispatch.Options{})
	replaced := 0
	does(b, func(ctx context.Context, in struct {
		Name string `json:"name"`
	}) (nothing, error) {
		if in.Name == "old" {
			if err := dispatch.Confirm(ctx, "This replaces %q, 100%%.", in.Name); err != nil {
				return nothing{}, err
			}
			replaced++
		}
		return nothing{}, nil
	}, func(s *dispatch.Spec) { s.Kind = dispatch.Write }, declares(dispatch.ConfirmationRequired))
	op, _ := b.Lookup("a.b")
	assert.Assert(t, op.Destructive(), "for surfaces it is")
	assert.Assert(t, !op.Spec().Destructive, "but the dispatcher lets it decide")

	assert.Assert(t, b.call(t.Context(), `{"name":"new"}`).Success())
	e := b.call(t.Context(), `{"name":"old"}`)
	assert.Equal(t, e.Err.Code, dispatch.ConfirmationRequired)
	assert.Equal(t, e.Err.Message, `This replaces "old", 100%.`)
	assert.Assert(t, e.Err.Recoverable)
	assert.Equal(t, replaced, 0)

	e = b.Dispatch(t.Context(),
		&dispatch.Call{Operation: "a.b", Arguments: json.RawMessage(`{"name":"old"}`),
			Confirmed: true})
	assert.Assert(t, e.Success(), e.Err)
	assert.Equal(t, replaced, 1)
}

// Outside of a call the program itself has decided.
func TestConfirmOutsideOfACall(t *testing.T) {
	assert.NilError(t, dispatch.Confirm(t.Context(), "This replaces %q.", "a"))
}

// Surfaces know from the declared code that an operation may ask: one that asks without it is
// mis-declared.
func TestConfirmWithoutDeclaringItIsInternal(t *testing.T) {
	b := newBench(dispatch.Options{})
	does(b, func(ctx context.Context, _ nothing) (nothing, error) {
		return nothing{}, dispatch.Confirm(ctx, "secret")
	})
	assert.Equal(t, string(b.call(t.Context(), ``).AppendJSON(nil)), unexpected)
	assert.Assert(t, strings.Contains(b.log.String(), "code=confirmation_required"), b.log.String())
	e := b.Dispatch(t.Context(), &dispatch.Call{Operation: "a.b", Confirmed: true})
	assert.Assert(t, e.Success(), "confirmed, it does not ask")
}

// An operation that would take something away only at times looks first, and asks then.
func ExampleConfirm() {
	files := map[string]string{"a.txt": "old"}
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "file.write", Summary: "Write a file.", Kind: dispatch.Write,
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

	dispatcher := dispatch.NewDispatcher(catalog, dispatch.Options{})
	arguments := json.RawMessage(`{"name":"a.txt","text":"new"}`)
	for _, confirmed := range []bool{false, true} { // a surface asks a person in between
		envelope := dispatcher.Dispatch(context.Background(),
			&dispatch.Call{Operation: "file.write", Arguments: arguments, Confirmed: confirmed})
		fmt.Printf("%s\n", envelope.AppendJSON(nil))
	}
	// Output:
	// {"success":false,"data":null,"error":{"code":"confirmation_required","message":"This replaces \"a.txt\".","details":null,"recoverable":true}}
	// {"success":true,"data":"written","error":null}
}
