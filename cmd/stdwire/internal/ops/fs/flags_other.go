//go:build !unix

package fs

import "os"

// readFlags open a file. On this system, no file in a directory is a pipe or a terminal.
const readFlags = os.O_RDONLY
