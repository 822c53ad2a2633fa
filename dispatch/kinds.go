package dispatch

// A Kind is the effect of an operation. The set is closed: [New] refuses other kinds. Surfaces and
// policies use it; it is not part of an operation's input.
type Kind string

const (
	Read        Kind = "read"        // changes nothing
	Write       Kind = "write"       // adds or changes data; replaced data can be restored
	Destructive Kind = "destructive" // cannot be undone and must be confirmed
	Lifecycle   Kind = "lifecycle"   // starts or ends something that outlives the call
	Wait        Kind = "wait"        // waits for an event and changes nothing
	Eval        Kind = "eval"        // runs code that the caller sent
)

func (k Kind) known() bool {
	switch k {
	case Read, Write, Destructive, Lifecycle, Wait, Eval:
		return true
	}
	return false
}

// A Gate is a permission that is given once, when a program makes its [Catalog]. An operation
// behind a closed gate is not listed and cannot be called. Applications can define gates.
type Gate string

const (
	GateWrite Gate = "write" // change data
	GateExec  Gate = "exec"  // start other programs
	GateEval  Gate = "eval"  // run code that a caller sends
)
