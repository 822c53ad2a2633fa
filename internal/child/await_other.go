//go:build !linux

package child

// awaitExit cannot wait for an exit without reaping; see the one for Linux.
func awaitExit(int) bool { return false }
