//go:build unix && !linux

package guard

// hopper is for tests that run on Linux only.
func hopper([]string) {}
