package dispatch_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
)

// BenchmarkAdd10000 measures what a program with that many operations does when it starts: it
// infers and compiles their schemas, registers them one by one, and lists them once.
func BenchmarkAdd10000(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		assert.Equal(b, len(newDispatcher(b, 10_000).Catalog().Operations()), 10_000)
	}
}

func BenchmarkDispatchInASession(b *testing.B) {
	all := dispatch.SessionOptions[int]{Idle: 1 << 40}.New()
	_, err := all.Open(b.Context(),
		func(context.Context) (string, int, error) { return "a", 1, nil })
	assert.NilError(b, err)
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "a.op", Summary: "S.", Type: dispatch.Write},
		func(ctx context.Context, in sessionInput) (int, error) {
			return all.Get(ctx, in.Session.Session)
		})
	d := dispatch.Options{}.New(c)
	arguments := json.RawMessage(
		`{"session":"a","text":"0123456789012345678901234567890123456789"}`)
	b.ReportAllocs()
	for b.Loop() {
		d.Dispatch(context.Background(), &dispatch.Call{Operation: "a.op", Arguments: arguments})
	}
}

// BenchmarkDispatchEval measures the cost of the blocklist for each byte of the arguments.
func BenchmarkDispatchEval(b *testing.B) {
	d := newEvalFixture(dispatch.Options{}).Dispatcher
	for _, size := range []int{64, 64 << 10} {
		arguments := json.RawMessage(`{"code":` +
			quoted(strings.Repeat("for f in *; do echo \"$f\"; done\n", size/32)) + `}`)
		b.Run(map[int]string{64: "64B", 64 << 10: "64KiB"}[size], func(b *testing.B) {
			b.SetBytes(int64(len(arguments)))
			b.ReportAllocs()
			for b.Loop() {
				d.Dispatch(context.Background(),
					&dispatch.Call{Operation: "a.b", Arguments: arguments})
			}
		})
	}
}
