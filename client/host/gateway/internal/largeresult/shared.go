package largeresult

import (
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/client/host/gateway/internal/spill"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contain"
	"github.com/stdwire/stdwire/rpc"
)

// A Shared keeps results that several gateways read: see gateway.ResultStore.
type Shared interface {
	Put(ctx context.Context, principal, id string, result, about []byte) error
	Get(ctx context.Context, principal, id string) (result, about []byte, err error)
}

// errUnreadable is the error for a result that another gateway may have kept.
var errUnreadable = rpc.Errorf(rpc.CodeInternalError,
	"the store of large results cannot be read now: try again in a moment")

// keep keeps a result for the principal of the request in ctx, here and where other gateways read
// it. It reports whether it is kept anywhere.
func (r *Results) keep(ctx context.Context, id string, result json.RawMessage, a about) bool {
	principal := dispatch.PrincipalFrom(ctx)
	kept := r.store.Put(id, principal, result, a)
	if r.shared == nil {
		return kept
	}
	return contain.Do(func() error {
		text, err := json.Marshal(a)
		if err == nil {
			err = r.shared.Put(ctx, principal, id, result, text)
		}
		return err
	}) == nil || kept
}

// find returns a result of the principal of the request in ctx. One that another gateway has made
// is kept here from now on.
func (r *Results) find(ctx context.Context, id string) (found spill.Result, err error) {
	principal := dispatch.PrincipalFrom(ctx)
	found, ok := r.store.Get(principal, id)
	switch {
	case ok:
		return found, nil
	case r.shared == nil || len(id) != len(spill.NewID()):
		return found, errUnknown
	}
	var result, text []byte
	var a about
	err = contain.Do(func() (err error) {
		result, text, err = r.shared.Get(ctx, principal, id)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return found, context.Cause(ctx)
	case err != nil:
		return found, errUnreadable
	case result == nil || json.Unmarshal(text, &a) != nil:
		return found, errUnknown
	}
	if r.store.Put(id, principal, result, a) {
		if found, ok = r.store.Get(principal, id); ok {
			return found, nil
		}
	}
	return spill.Unkept(result, a), nil
}
