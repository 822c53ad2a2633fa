package dispatch

import "slices"

// A Type is the effect of an operation. The set is closed: [NewOperation] refuses other types.
// Surfaces and policies use it; it is not part of an operation's input.
type Type string

const (
	Read        Type = "read"        // changes nothing
	Write       Type = "write"       // adds or changes data; replaced data can be restored
	Destructive Type = "destructive" // cannot be undone and must be confirmed
	Lifecycle   Type = "lifecycle"   // starts or ends something that outlives the call
	Wait        Type = "wait"        // waits for an event and changes nothing
	Eval        Type = "eval"        // runs code that the caller sent
)

// types are the known types.
var types = [...]Type{Read, Write, Destructive, Lifecycle, Wait, Eval}

func (t Type) known() bool { return slices.Contains(types[:], t) }
