package main

// letsInAll is what lets in all changes of the configuration that wait: there is no SIGHUP.
const letsInAll = "a new start of serve"

// What doctor says of a server that does not end with its stdin. Whether it can be sent a
// CTRL_BREAK_EVENT before it is killed depends on the console.
const (
	endedBySignal = "had to be told by CTRL_BREAK"
	ignoresEnd    = "it does not heed the end of its stdin"
)
