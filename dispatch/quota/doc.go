// Package quota divides a limited amount among its owners: bytes of memory, places for requests,
// sessions. An owner is usually a principal, as a server has authenticated it.
//
// A [Pool] has a total, and one rule: an owner may hold at most half of what the others leave. So
// one owner alone leaves half of the total to whoever comes next, and of several that want all,
// each ends up with an equal part. What an owner does not hold is not kept for it: an idle owner
// costs nothing. The owner "" is nobody in particular, as where callers are not told apart. It may
// hold all that the others leave.
//
//	pool := quota.NewPool(256 << 20)
//	if err := pool.Take(principal, size); err != nil {
//		return err // matches ErrShare, ErrTotal or ErrNever
//	}
//	defer pool.Give(principal, size)
//
// [Pool.Take] never blocks. [Pool.Wait] blocks until there is room, and serves the owners that wait
// in turn, so that the many requests of one delay those of another by one request only.
//
// An [Account] is what one piece of work holds of a pool. It travels in the context of the work, so
// that code far below a server's transport can ask for memory in the name of its caller.
package quota
