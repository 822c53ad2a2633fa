//go:build !windows

package processgroup

var systemFixtures map[string]func()
