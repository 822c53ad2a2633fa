//go:build unix && !linux

package guard

// hopper is used by tests on Linux only.
func hopper([]string) {}
