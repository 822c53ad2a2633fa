//go:build !windows

package command

// LetsInAll is what lets in all changes of the configuration that wait.
const LetsInAll = "SIGHUP"

// What doctor says of a server that does not end with its stdin.
const (
	EndedBySignal = "had to be told by SIGTERM"
	IgnoresEnd    = "it heeds neither the end of its stdin nor SIGTERM"
)
