//go:build !linux

package child

// awaitExit fails: this system cannot wait for an exit without reaping. See await_linux.go.
func awaitExit(int) bool { return false }
