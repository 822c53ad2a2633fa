package fs

import (
	"context"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

// retry calls op as [atomicfile.Retry] does: on Windows again while another program has the file
// open. It stops when ctx is done, and then returns its error.
func retry(ctx context.Context, op func() error) error {
	return atomicfile.Retry(func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return op()
	})
}
