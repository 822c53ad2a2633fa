//go:build !unix

package fs

import "os"

// readFlags open a file. Here no name in a directory is that of a pipe or a terminal.
const readFlags = os.O_RDONLY
