//go:build !windows

package fs

// systemEscapes are paths that lead out of a root on Windows only.
var systemEscapes []string
