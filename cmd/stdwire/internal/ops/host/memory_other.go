//go:build !linux

package host

// memory returns 0: it would take another program to find out.
func memory(int) int64 { return 0 }
