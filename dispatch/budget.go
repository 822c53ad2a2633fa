package dispatch

import "github.com/stdwire/stdwire/internal/quota"

// A Budget bounds the bytes that the callers of one or several servers and HTTP handlers hold
// together. It has one rule: a principal may hold at most half of what the others leave. So a
// single principal leaves half of the budget for the next one, and principals that all take as much
// as they can approach equal parts. Nothing is reserved for a principal. Callers that are not
// distinguished, whose principal is "", may hold everything that the others leave.
//
// Operations take memory from the budget of their caller's surface with [Reserve]. A Budget is safe
// for concurrent use.
type Budget quota.Pool

// NewBudget returns a budget of this many bytes.
func NewBudget(bytes int64) *Budget { return (*Budget)(quota.NewPool(bytes)) }
