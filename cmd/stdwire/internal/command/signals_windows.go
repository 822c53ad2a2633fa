package command

// AcceptsAllChanges says how all waiting changes of a configuration are accepted. There is no
// SIGHUP.
const AcceptsAllChanges = "a new start of serve"

// What doctor says of a server that does not end with its stdin. Whether it can be sent a
// CTRL_BREAK_EVENT before it is killed depends on the console.
const (
	NeededSignal    = "had to be told by CTRL_BREAK"
	IgnoresShutdown = "it does not heed the end of its stdin"
)
