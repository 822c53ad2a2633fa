//go:build !windows

package main

// letsInAll is what lets in all changes of the configuration that wait.
const letsInAll = "SIGHUP"
