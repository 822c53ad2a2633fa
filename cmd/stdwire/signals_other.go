//go:build !windows

package main

// letsInAll is what lets in all changes of the configuration that wait.
const letsInAll = "SIGHUP"

// What doctor says of a server that does not end with its stdin.
const (
	endedBySignal = "had to be told by SIGTERM"
	ignoresEnd    = "it heeds neither the end of its stdin nor SIGTERM"
)
