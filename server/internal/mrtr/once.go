package mrtr

import "encoding/json"

// A Call is a call of the function of Once, in progress or done.
type Call struct {
	Done   chan struct{}
	Result json.RawMessage // set when done
	Err    error
}

// onceDigest takes the place of a question's digest for a key of Once.
var onceDigest = []byte("once")

// Once returns the call for a key: that of an earlier run, one in progress, or a new one. If first
// is true, the caller must make the call, and then call Finish.
func (x *Rounds) Once(key string) (call *Call, first bool) {
	if call = x.calls[key]; call != nil {
		return call, false
	}
	call = &Call{Done: make(chan struct{})}
	if kept := x.Answer(key, onceDigest); kept != nil {
		call.Result = kept
		close(call.Done)
		return call, false
	}
	if x.calls == nil {
		x.calls = map[string]*Call{}
	}
	x.calls[key] = call
	return call, true
}

// Finish ends a call and records its result.
func (x *Rounds) Finish(key string, call *Call) {
	delete(x.calls, key)
	if call.Err == nil {
		x.RecordQuestion(key, onceDigest)
		x.RecordAnswer(key, call.Result)
	}
	close(call.Done)
}
