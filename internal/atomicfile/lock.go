package atomicfile

import (
	"context"
	"time"
)

// Lock waits until no other process has locked a file, creates it if needed, and locks it until
// unlock is called or the process ends. Where the system has no supported file locks, Lock returns
// at once. After the end of ctx, the error is its cause.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	const interval = 20 * time.Millisecond
	for {
		f, err := lockFile(path)
		switch {
		case err != nil:
			return nil, err
		case f != nil:
			return func() { _ = f.Close() }, nil
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
