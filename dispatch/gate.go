package dispatch

// A Gate is a permission that is given once, when a program makes its [Catalog]. An operation
// behind a closed gate is not listed and cannot be called. Applications can define gates.
type Gate string

const (
	GateWrite Gate = "write" // change data
	GateExec  Gate = "exec"  // start other programs
	GateEval  Gate = "eval"  // run code that a caller sends
)
