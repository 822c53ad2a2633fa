//go:build !unix

package elicit

import "os/exec"

// detach does nothing: the command passes the page to the browser and ends.
func detach(*exec.Cmd) {}
