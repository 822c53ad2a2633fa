//go:build !unix

package userfile

import "os"

// flags open a file. On this system, no file in a directory is a pipe or a terminal.
const flags = os.O_RDONLY
