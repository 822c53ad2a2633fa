//go:build unix

package proc

// HasEval tells whether there is proc.eval. It needs sh, which is where Unix is.
const HasEval = true
