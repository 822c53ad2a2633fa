//go:build !windows

package replace

const (
	// ReadOnlyBlocksReplace says whether a file marked read-only cannot be replaced.
	ReadOnlyBlocksReplace = false

	// moveByLink says whether a file is moved by linking it to its new name.
	moveByLink = true
)
