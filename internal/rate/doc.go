// Package rate limits how often, and how many at a time, callers do something.
//
// A [Limiter] has buckets by key. Each holds one integer, its state, which a [Limit] computes from
// the one before, the time and the cost by a pure function: the generic cell rate algorithm (GCRA)
// for a rate with a burst, a count of the day for a quota. Several buckets are charged together or
// not at all. A bucket whose state allows everything is the same as none, so it is forgotten.
//
// [Places] limits how many run at a time. Callers wait for a place in the order of their arrival,
// and principals have their turns one after the other.
//
// Limits and states count microseconds and fit in 53 bits, so that a script of a shared store can
// compute them as well.
package rate
