//go:build !windows

package main

// letsInAll is what lets in all changes of the configuration that wait.
const letsInAll = "SIGHUP"

// endedBy is how a server ends that does not when its stdin does.
const endedBy = "had to be told by SIGTERM"
