//go:build unix

package elicit

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// detach keeps Ctrl-C in this terminal from ending the browser.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// handOver returns an argument with which the browser opens a page. All users of the machine can
// read the arguments of a process, and an address may contain a token that works once, or the state
// of a login. So the argument is a file that only this user can read, and that leads to the page.
// The file is removed after a while, or else by the next call.
func handOver(url string) (argument string, err error) {
	const kept = time.Minute
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "stdwire", "open")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	old, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, entry := range old {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > kept {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
	f, err := os.CreateTemp(dir, "*.html") // with mode 0600
	if err != nil {
		return "", err
	}
	at := html.EscapeString(url)
	_, err = fmt.Fprintf(f, `<!doctype html><meta charset="utf-8"><title>stdwire</title>
<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=%s">
<p><a href="%s">Continue</a></p>
`, at, at)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	time.AfterFunc(kept, func() { _ = os.Remove(f.Name()) })
	return f.Name(), nil
}
