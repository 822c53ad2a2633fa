//go:build !unix

package proc

// HasEval reports whether proc.eval exists. It needs sh, which Unix has.
const HasEval = false
