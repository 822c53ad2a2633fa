package dispatch

// A Kind says what running an operation does to the world. The set is closed: [New] refuses any
// other. A kind is for surfaces and policies to act on; it is never part of an operation's input.
type Kind string

const (
	Read Kind = "read" // looks, and changes nothing
	// adds or changes, and takes nothing away that cannot be had back
	Write       Kind = "write"
	Destructive Kind = "destructive" // takes away or overwrites for good, and has to be confirmed
	Lifecycle   Kind = "lifecycle"   // starts or ends something that lives on between calls
	Wait        Kind = "wait"        // waits for something to happen, and changes nothing
	Eval        Kind = "eval"        // runs code that the caller sent
)

func (k Kind) known() bool {
	switch k {
	case Read, Write, Destructive, Lifecycle, Wait, Eval:
		return true
	}
	return false
}

// A Gate is a permission given once, when a program starts and makes its [Catalog]. An operation
// behind a gate that was not opened is in no list and cannot be called. An application may use
// gates of its own beside these.
type Gate string

const (
	GateWrite Gate = "write" // change what is there
	GateExec  Gate = "exec"  // start other programs
	GateEval  Gate = "eval"  // run code that a caller sends
)
