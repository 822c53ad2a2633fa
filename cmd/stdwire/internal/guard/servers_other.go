//go:build !unix

package guard

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/stdwire/stdwire/internal/child"
)

// startServer fails: this system needs no guard processes, as Windows, or has none.
func startServer(context.Context, *exec.Cmd) (child.Group, [3]*os.File, error) {
	return nil, [3]*os.File{}, errors.ErrUnsupported
}
