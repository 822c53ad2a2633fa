//go:build !windows

package fs

const (
	// keepsReadOnly says whether a file that is marked read-only cannot be replaced.
	keepsReadOnly = false

	// movesByLink says whether a file is moved by a second name for it.
	movesByLink = true
)
