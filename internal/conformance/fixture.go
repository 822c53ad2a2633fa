package conformance

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/stdwire/stdwire/dispatch"
)

// Count is the result of the fixture's operations.
type Count struct {
	N int64 `json:"n"`
}

// Fixture returns a catalog with operations for tests of clients:
//
//	add    adds two numbers
//	steps  reports progress and logs, twice
//	block  runs until it is cancelled
//	ended  returns the number of calls of block that have ended
//	grow   adds an operation to the catalog, which changes the list of tools
//	fail   fails with not_found
//	panic  panics
func Fixture() *dispatch.Catalog {
	c := dispatch.NewCatalog()
	var ended, grown atomic.Int64
	type none = struct{}
	dispatch.Add(c, dispatch.Spec{Name: "add", Summary: "Add two numbers.", Type: dispatch.Read,
		Idempotent: true},
		func(_ context.Context, in struct {
			A int64 `json:"a" doc:"One of them."`
			B int64 `json:"b" doc:"The other." max:"1000"`
		}) (Count, error) {
			return Count{in.A + in.B}, nil
		})
	dispatch.Add(c, dispatch.Spec{Name: "steps", Summary: "Do two steps.", Type: dispatch.Wait},
		func(ctx context.Context, _ none) (Count, error) {
			for n := range 2 {
				dispatch.Progress(ctx, float64(n+1), 2, fmt.Sprintf("step %d", n+1))
				dispatch.Logger(ctx).Warn("step", "n", n+1)
			}
			return Count{2}, nil
		})
	dispatch.Add(c, dispatch.Spec{Name: "block", Summary: "Run until cancelled.",
		Type: dispatch.Wait},
		func(ctx context.Context, _ none) (Count, error) {
			dispatch.Progress(ctx, 1, 0, "blocking")
			<-ctx.Done()
			ended.Add(1)
			return Count{}, context.Cause(ctx)
		})
	dispatch.Add(c, dispatch.Spec{Name: "ended", Summary: "Say how many calls of block have ended.",
		Type: dispatch.Read},
		func(context.Context, none) (Count, error) { return Count{ended.Load()}, nil })
	dispatch.Add(c, dispatch.Spec{Name: "grow", Summary: "Add an operation.", Type: dispatch.Write},
		func(context.Context, none) (Count, error) {
			n := grown.Add(1)
			dispatch.Add(c, dispatch.Spec{Name: fmt.Sprintf("grown.%d", n), Summary: "Was added.",
				Type: dispatch.Read},
				func(context.Context, none) (none, error) { return none{}, nil })
			return Count{n}, nil
		})
	dispatch.Add(c, dispatch.Spec{Name: "fail", Summary: "Fail.", Type: dispatch.Read,
		Errors: []dispatch.Code{dispatch.NotFound}},
		func(context.Context, none) (none, error) {
			return none{}, dispatch.Errorf(dispatch.NotFound, "there is nothing here")
		})
	dispatch.Add(c, dispatch.Spec{Name: "panic", Summary: "Panic.", Type: dispatch.Read},
		func(context.Context, none) (none, error) { panic("fixture") })
	return c
}
