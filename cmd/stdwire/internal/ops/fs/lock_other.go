//go:build !windows

package fs

// longName returns a path by which its file is known, whichever of its names it was asked for.
func longName(name string) string { return name }
