//go:build !windows

package rootdir

// checkName accepts every clean path: this system has no reserved names.
func checkName(string) error { return nil }
