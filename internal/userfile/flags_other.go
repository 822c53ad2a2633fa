//go:build !unix

package userfile

import (
	"os"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// flags open a file. On this system, no file in a directory is a pipe or a terminal.
const flags = os.O_RDONLY

func open(path string) (*os.File, error) { return atomicfile.Open(path) }
