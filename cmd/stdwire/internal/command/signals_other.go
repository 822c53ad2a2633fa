//go:build !windows

package command

// AcceptsAllChanges says how all waiting changes of a configuration are accepted.
const AcceptsAllChanges = "SIGHUP"

// What doctor says of a server that does not end with its stdin.
const (
	NeededSignal    = "had to be told by SIGTERM"
	IgnoresShutdown = "it heeds neither the end of its stdin nor SIGTERM"
)
