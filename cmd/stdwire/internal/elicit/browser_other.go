//go:build !unix

package elicit

import "os/exec"

// detach does nothing: here Browse starts a command that ends once it has told the browser.
func detach(*exec.Cmd) {}

// handOver returns an argument with which the browser opens a page: its address. On Windows only
// administrators can read the arguments of another user's process.
func handOver(url string) (argument string, err error) { return url, nil }
