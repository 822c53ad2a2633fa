package elicit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// Browse opens a web page in the system's browser. Other users of the machine do not see the URL.
// Browse returns once the browser has started or failed to.
func Browse(url string) error {
	words := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		words = []string{"open"}
	case "windows":
		words = []string{"rundll32", "url.dll,FileProtocolHandler"}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("there is no graphical display")
		}
	}
	argument, err := handOver(url)
	if err != nil {
		return err
	}
	// no shell parses it, and as it begins with http or a slash, no command takes it for an option
	cmd := exec.Command(words[0], append(words[1:], argument)...)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // the command may be the browser itself
	const startTimeout = 2 * time.Second
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%s: %w", words[0], err)
		}
	case <-time.After(startTimeout):
	}
	return nil
}
