//go:build !unix

package userfile

import (
	"os"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

func open(path string) (*os.File, error) { return atomicfile.Open(path) }
