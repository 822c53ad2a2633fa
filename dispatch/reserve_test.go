package dispatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/quota"
)

func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := quota.NewPool(100)
		account := pool.Open("")
		defer account.Close()
		c := dispatch.NewCatalog()
		dispatch.Add(c, dispatch.Spec{Name: "large", Summary: "Takes memory.", Type: dispatch.Read},
			func(ctx context.Context, in struct{ N int64 }) (struct{}, error) {
				return struct{}{}, dispatch.Reserve(ctx, in.N)
			})
		d := dispatch.Options{}.New(c)
		call := func(ctx context.Context, arguments string) *dispatch.Error {
			return d.Dispatch(ctx,
				&dispatch.Call{Operation: "large", Arguments: []byte(arguments)}).Err
		}
		ctx := quota.NewContext(t.Context(), account)

		assert.Assert(t, call(t.Context(), `{"N":1000}`) == nil, "without a limit")
		assert.Assert(t, call(ctx, `{"N":80}`) == nil)
		assert.Equal(t, account.Held(), int64(80), "until the account is closed")

		start := time.Now()
		err := call(ctx, `{"N":30}`)
		assert.ErrorIs(t, err, dispatch.ErrBusy)
		assert.ErrorIs(t, err, dispatch.Timeout)
		assert.Assert(t, err.Recoverable)
		assert.Equal(t, time.Since(start), 10*time.Second)

		err = call(ctx, `{"N":101}`)
		assert.ErrorIs(t, err, dispatch.InvalidInput)

		ended, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		assert.ErrorIs(t, call(ended, `{"N":30}`), dispatch.Timeout)

		go func() {
			time.Sleep(time.Second)
			assert.Check(t, account.Resize(0))
		}()
		assert.Assert(t, call(ctx, `{"N":30}`) == nil)
	})
}
