package replace

const (
	// ReadOnlyBlocksReplace says whether a file marked read-only cannot be replaced.
	ReadOnlyBlocksReplace = true

	// moveByLink says whether a file is moved by linking it to its new name. On Windows, neither
	// name could be removed while another program has the file open.
	moveByLink = false
)
