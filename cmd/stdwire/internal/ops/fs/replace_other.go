//go:build !windows

package fs

const (
	// readOnlyBlocksReplace says whether a file marked read-only cannot be replaced.
	readOnlyBlocksReplace = false

	// moveByLink says whether a file is moved by linking it to its new name.
	moveByLink = true
)
