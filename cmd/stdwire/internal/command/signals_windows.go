package command

// LetsInAll is what lets in all changes of the configuration that wait: there is no SIGHUP.
const LetsInAll = "a new start of serve"

// What doctor says of a server that does not end with its stdin. Whether it can be sent a
// CTRL_BREAK_EVENT before it is killed depends on the console.
const (
	EndedBySignal = "had to be told by CTRL_BREAK"
	IgnoresEnd    = "it does not heed the end of its stdin"
)
