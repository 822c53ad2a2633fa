package fs

const (
	// keepsReadOnly says whether a file that is marked read-only cannot be replaced.
	keepsReadOnly = true

	// movesByLink says whether a file is moved by a second name for it. On Windows, if another
	// program had the file open, neither of the two could be removed.
	movesByLink = false
)
