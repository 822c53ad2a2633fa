package main

// letsInAll is what lets in all changes of the configuration that wait: there is no SIGHUP.
const letsInAll = "a new start of serve"

// endedBy is how a server ends that does not when its stdin does: there is no SIGTERM.
const endedBy = "was killed"
