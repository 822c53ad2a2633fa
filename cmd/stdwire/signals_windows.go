package main

// letsInAll is what lets in all changes of the configuration that wait: there is no SIGHUP.
const letsInAll = "a new start of serve"
