//go:build !unix

package elicit

import "os/exec"

// detach does nothing: here Browse starts a command that ends once it has told the browser.
func detach(*exec.Cmd) {}
