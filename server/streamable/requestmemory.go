package streamable

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
)

// A memoryPool is the server's memory, for bodies, responses and events.
type memoryPool struct {
	budget        *quota.Pool
	closedAccount *quota.Account // takes nothing; the account of requests that have ended
}

func newMemoryPool(budget *quota.Pool) memoryPool {
	closed := budget.Open("")
	closed.Close()
	return memoryPool{budget, closed}
}

// A requestMemory is the part of the server's memory that one request holds: its body while it is
// needed, what the operation reserves, and the response until it has been read. The first 64 KiB
// are not counted, because the request's slot covers them, so most requests never open an account.
type requestMemory struct {
	pool    *memoryPool
	owner   string
	current atomic.Pointer[quota.Account]
}

// account returns the request's account, and opens it if necessary.
func (m *requestMemory) account() *quota.Account {
	if a := m.current.Load(); a != nil {
		return a
	}
	a := m.pool.budget.Open(m.owner)
	if !m.current.CompareAndSwap(nil, a) {
		return m.current.Load()
	}
	return a
}

// release returns the account, or nil if there is none. The caller must close it. The request can
// reserve nothing afterwards.
func (m *requestMemory) release() *quota.Account {
	a := m.current.Swap(m.pool.closedAccount)
	if a == m.pool.closedAccount {
		return nil
	}
	return a
}

// moveTo transfers the account to to, which must be new.
func (m *requestMemory) moveTo(to *requestMemory) {
	to.pool, to.owner = m.pool, m.owner
	to.current.Store(m.release())
}

// close frees all memory of the request.
func (m *requestMemory) close() { m.release().Close() }

// holdResponse reserves memory for a response, and for other bytes still in use, in place of what
// the request held. If there is none, it returns an error response to send instead, as text and as
// a refusal.
func (m *requestMemory) holdResponse(id rpc.ID, answer []byte, other int) ([]byte, *refusal) {
	size := countedBytes(cap(answer)) + countedBytes(other)
	if size == 0 && m.current.Load() == nil {
		return answer, nil
	}
	account := m.account()
	err := account.Resize(size)
	if err == nil {
		return answer, nil
	}
	_ = account.Resize(min(countedBytes(other), account.Held())) // shrinking never fails
	refused := m.responseRefusal(err, len(answer)).forID(id)
	return rpc.AppendError(nil, id, refused.err), refused
}

// countedBytes returns the memory to reserve for size bytes.
func countedBytes(size int) int64 {
	if size <= buffer.Small {
		return 0
	}
	return int64(size)
}

// bodyRefusal refuses a request for whose body there is no memory.
func (m *requestMemory) bodyRefusal(err error) *refusal {
	if errors.Is(err, quota.ErrNever) {
		return newRefusal(http.StatusRequestEntityTooLarge, rpc.CodeInvalidRequest,
			"the body is larger than the %d bytes that one caller may have in the server's memory",
			m.pool.budget.MaxHeld(m.owner)).withHeader("Connection", "close")
	}
	refused := m.busyRefusal(err, "there is no room for the body")
	refused.headers = http.Header{"Connection": {"close"}}
	return refused
}

// responseRefusal refuses a response of size bytes for which there is no memory.
func (m *requestMemory) responseRefusal(err error, size int) *refusal {
	what := fmt.Sprintf("the call has run, but there is no room for its answer of %d bytes", size)
	if errors.Is(err, quota.ErrNever) {
		return newRefusal(http.StatusInternalServerError, rpc.CodeInternalError,
			"%s: one caller may have %d in the server's memory; ask for less at a time", what,
			m.pool.budget.MaxHeld(m.owner))
	}
	return m.busyRefusal(err, what)
}

// busyRefusal refuses what needs more memory than is available now, and states how much is.
func (m *requestMemory) busyRefusal(err error, what string) *refusal {
	budget := m.pool.budget
	refused := newRefusal(http.StatusServiceUnavailable, rpc.CodeBusy,
		"%s: other callers leave room for %d; try again in a moment, or with less at a time", what,
		budget.Room(m.owner))
	if errors.Is(err, quota.ErrShare) {
		refused = newRefusal(http.StatusTooManyRequests, rpc.CodeBusy,
			"%s: your other requests and answers hold %d bytes, which leaves room for %d; read them first, or try again with less at a time",
			what, budget.Held(m.owner)-m.account().Held(), budget.Room(m.owner)+m.account().Held())
	}
	return refused.withHeader("Retry-After", "1")
}

// A response is the end of a stream. The zero response sends nothing.
type response struct {
	text    *buffer.Buffer // nil: there is none
	refused *refusal       // set if text is an error for lack of memory
	account *quota.Account // holds the memory of text; nil: not counted
}

// free frees the memory of a response that has been written, or is not needed.
func (r *response) free() {
	r.text.Free()
	r.account.Close()
}

// setText makes text the content of b and returns b. It frees the memory of b if text is in other
// memory.
func setText(b *buffer.Buffer, text []byte) *buffer.Buffer {
	if cap(text) > cap(b.B) {
		b.Take().Free()
	}
	b.B = text
	return b
}
