package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

type message struct {
	Text string `json:"text"`
}

func echoMessage(_ context.Context, in message) (message, error) { return in, nil }

var typicalArgs = json.RawMessage(
	`{"text":"0123456789012345678901234567890123456789012345678901234567890123"}`)

// newDispatcher returns a dispatcher of n operations, "a.op0" to "a.op<n-1>".
func newDispatcher(t testing.TB, n int) *dispatch.Dispatcher {
	c := dispatch.NewCatalog()
	for i := range n {
		dispatch.Add(c, dispatch.Spec{Name: fmt.Sprintf("a.op%d", i),
			Summary: "Says what you said.", Type: dispatch.Read}, echoMessage)
	}
	return dispatch.Options{}.New(c)
}

func BenchmarkDispatch(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("operations=%d", n), func(b *testing.B) {
			d := newDispatcher(b, n)
			var reply []byte
			b.ReportAllocs()
			for b.Loop() {
				e := d.Dispatch(context.Background(),
					&dispatch.Call{Operation: "a.op0", Arguments: typicalArgs})
				reply = e.AppendJSON(reply[:0])
			}
		})
	}
}

func BenchmarkDispatchRaw(b *testing.B) {
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "a.op", Summary: "S.", Type: dispatch.Read},
		func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
			return in, nil
		})
	d := dispatch.Options{}.New(c)
	b.ReportAllocs()
	for b.Loop() {
		d.Dispatch(context.Background(), &dispatch.Call{Operation: "a.op", Arguments: typicalArgs})
	}
}

func BenchmarkDispatchParallel(b *testing.B) {
	d := newDispatcher(b, 10)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			d.Dispatch(context.Background(), &dispatch.Call{Operation: "a.op0", Arguments: typicalArgs})
		}
	})
}

func BenchmarkRegister10000(b *testing.B) {
	ops := make([]*dispatch.Operation, 10_000)
	for i := range ops {
		ops[i] = newOperation(b, fmt.Sprintf("a.op%d", i))
	}
	for _, atOnce := range []bool{true, false} {
		b.Run(fmt.Sprintf("atOnce=%t", atOnce), func(b *testing.B) {
			for b.Loop() {
				c := dispatch.NewCatalog()
				if atOnce {
					assert.NilError(b, c.Register(ops...))
				} else {
					for _, op := range ops {
						assert.NilError(b, c.Register(op))
					}
				}
				assert.Equal(b, len(c.Operations()), len(ops))
			}
		})
	}
}

// New infers and compiles the schemas of an operation.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, err := dispatch.NewOperation(
			dispatch.Spec{Name: "a.op", Summary: "Says what you said.", Type: dispatch.Read}, echoMessage)
		assert.NilError(b, err)
	}
}

func TestDispatchAllocatesLittle(t *testing.T) {
	d := newDispatcher(t, 10)
	reply := make([]byte, 0, 256)
	allocs := testing.AllocsPerRun(1000, func() {
		e := d.Dispatch(context.Background(),
			&dispatch.Call{Operation: "a.op0", Arguments: typicalArgs})
		reply = e.AppendJSON(reply[:0])
	})
	assert.Assert(t, allocs <= 15, "%v allocations", allocs)
}
