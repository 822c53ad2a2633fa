package replace

import (
	"context"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// Retry calls op as [atomicfile.Retry] does, which on Windows repeats it while another program has
// the file open. It stops when ctx is done and returns the error of ctx.
func Retry(ctx context.Context, op func() error) error {
	return atomicfile.Retry(func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return op()
	})
}
