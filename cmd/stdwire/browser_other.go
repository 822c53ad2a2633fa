//go:build !unix

package main

import "os/exec"

// detach does nothing: the command hands over to the browser, and ends.
func detach(*exec.Cmd) {}
