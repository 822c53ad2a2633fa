//go:build !windows

package rootdir

// longName returns the path: this system has no short names.
func longName(name string) string { return name }
