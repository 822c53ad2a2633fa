// Package quota divides a limited amount among its owners: bytes of memory, places for requests,
// sessions. An owner is usually a principal, as a server has authenticated it.
//
// A [Pool] has a total, and one rule: an owner may hold at most half of the amount that the others
// leave. So a single owner leaves half of the total for the next one, and owners that all take as
// much as they can approach equal parts. Nothing is reserved for an owner, so an idle owner costs
// nothing. The owner "" is for callers that are not distinguished. It may hold everything that the
// others leave.
//
//	pool := quota.NewPool(256 << 20)
//	if err := pool.Take(principal, size); err != nil {
//		return err // matches ErrShare, ErrTotal or ErrNever
//	}
//	defer pool.Give(principal, size)
//
// [Pool.Take] never blocks. [Pool.Wait] blocks until the rule allows the amount. Waiting owners are
// served in turn, so each owner delays a request of another by at most one request.
//
// An [Account] is the amount that one task holds. The task's context carries it, so that code far
// from a server's transport can reserve memory for the caller.
package quota
