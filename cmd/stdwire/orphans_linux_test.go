package main

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// However a server ends, none of 20 processes that ignore SIGTERM, nor their children and daemons,
// is left.
func TestNoOrphans(t *testing.T) {
	for name, end := range map[string]func(server *exec.Cmd, stdin io.Closer) error{
		"end of file": func(_ *exec.Cmd, stdin io.Closer) error { return stdin.Close() },
		"SIGTERM": func(server *exec.Cmd,
			_ io.Closer) error {
			return server.Process.Signal(syscall.SIGTERM)
		},
		"SIGKILL": func(server *exec.Cmd, _ io.Closer) error { return server.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unique, err := rand.Int(rand.Reader, big.NewInt(1e9))
			assert.NilError(t, err)
			// seconds to sleep, by which the processes are known
			marker := fmt.Sprintf("86400.%09d", unique)
			stubborn := "trap '' TERM HUP INT; (trap '' TERM; sleep " + marker + " & sleep " +
				marker + ") & setsid sleep " + marker + " & sleep " + marker

			self, err := os.Executable()
			assert.NilError(t, err)
			server := exec.Command(self, "serve", "--allow-exec")
			stdin, err := server.StdinPipe()
			assert.NilError(t, err)
			stdout, err := server.StdoutPipe()
			assert.NilError(t, err)
			assert.NilError(t, server.Start())
			ended := make(chan struct{})
			t.Cleanup(func() {
				_ = server.Process.Kill()
				<-ended
			})
			go func() {
				_ = server.Wait()
				close(ended)
			}()
			answers := bufio.NewReader(stdout)
			for i := range 20 {
				_, err := fmt.Fprintf(stdin,
					`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"proc_start","arguments":{"command":"sh","args":["-c",%q]},`+
						`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`+
						"\n", i, stubborn)
				assert.NilError(t, err)
				answer, err := answers.ReadString('\n')
				assert.NilError(t, err)
				assert.Assert(t, strings.Contains(answer, `"success":true`), answer)
			}
			waitFor(t, func() string {
				if n := sleeping(marker); n < 80 {
					return fmt.Sprintf("%d of 80 processes have come up", n)
				}
				return ""
			})
			assert.NilError(t, end(server, stdin))
			<-ended
			waitFor(t, func() string {
				if n := sleeping(marker); n > 0 {
					return fmt.Sprintf("%d processes are left", n)
				}
				return ""
			})
		})
	}
}

// However a command that starts a server, or runs in its place, ends, nothing is left of a server
// that ignores the end of its stdin and SIGTERM, nor of its children and daemons.
func TestNoOrphansOfServers(t *testing.T) {
	ends := map[string]func(p *piped) error{
		"SIGKILL": func(p *piped) error { return p.Process.Kill() },
		"two signals": func(p *piped) error {
			if err := p.Process.Signal(syscall.SIGTERM); err != nil {
				return err
			}
			if err := p.Process.Signal(syscall.SIGTERM); err != os.ErrProcessDone {
				return err
			}
			return nil
		},
		"SIGTERM": func(p *piped) error { return p.Process.Signal(syscall.SIGTERM) },
		"end of file, then SIGTERM": func(p *piped) error {
			return errors.Join(p.in.Close(), p.Process.Signal(syscall.SIGTERM))
		},
	}
	inPlace := map[string]func(p *piped) error{
		"end of file": func(p *piped) error { return p.in.Close() },
		// the command decides what SIGINT means, and this one ignores it
		"SIGINT, then SIGTERM": func(p *piped) error {
			return errors.Join(p.Process.Signal(os.Interrupt), p.Process.Signal(os.Interrupt),
				p.Process.Signal(syscall.SIGTERM))
		},
	}
	maps.Copy(inPlace, ends)
	for name, args := range map[string][]string{
		"tap":                      {"tap", "--live", "--"},
		"bridge of framings":       {"bridge", "--"},
		"serve":                    {"serve", "--config"},
		"a gateway behind another": {"serve", "--config", "serve", "--config"},
		"serve --http":             {"serve", "--http", "127.0.0.1:0", "--no-auth", "--config"},
		"call":                     {"call", "x", "--"},
		"shell":                    {"shell", "--"},
		"doctor":                   {"doctor", "--"},
		"bridge":                   {"bridge", "--http", "127.0.0.1:0", "--no-auth", "--"},
		"web":                      {"web", "--"},
		"connect":                  {"connect", "@x", "--foreground", "--"},
	} {
		ends := ends
		if name == "tap" || name == "bridge of framings" {
			ends = inPlace
		}
		for end := range ends {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				unique, err := rand.Int(rand.Reader, big.NewInt(1e9))
				assert.NilError(t, err)
				marker := fmt.Sprintf("86400.%09d", unique)
				words := []string{"sh", "-c", "trap '' TERM HUP INT; setsid sleep " + marker +
					" & sleep " + marker + " & sleep " + marker}
				if !slices.Contains(args, "--") {
					words = []string{configWith(t, "stubborn", words)}
				}
				if outer, inner := 2, args[2:]; name == "a gateway behind another" {
					self, err := os.Executable()
					assert.NilError(t, err)
					words = append(args[:outer:outer],
						configWith(t, "stubborn", slices.Concat([]string{self}, inner, words)))
				} else {
					words = append(slices.Clip(args), words...)
				}
				if i := slices.Index(words, "@x"); i > 0 {
					words[i] += marker // a connection of its own
				}
				p := pipe(t, words...)
				t.Cleanup(func() { _ = p.Process.Signal(syscall.SIGKILL) })
				waitFor(t, func() string {
					if n := sleeping(marker); n < 3 {
						return fmt.Sprintf("%d of 3 processes have come up", n)
					}
					return ""
				})
				assert.NilError(t, ends[end](p))
				late := time.AfterFunc(time.Minute, func() {
					t.Error("it has not ended in a minute")
					_ = p.Process.Kill()
				})
				_ = p.Wait()
				late.Stop()
				waitFor(t, func() string {
					if n := sleeping(marker); n > 0 {
						return fmt.Sprintf("%d processes are left", n)
					}
					return ""
				})
			})
		}
	}
}

// sleeping counts the processes that sleep for marker seconds.
func sleeping(marker string) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range files {
		if line, err := os.ReadFile(name); err == nil &&
			strings.HasSuffix(strings.TrimRight(string(line), "\x00"), "sleep\x00"+marker) {
			n++
		}
	}
	return n
}
