package lograte

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// One line per second is allowed per address, regardless of the port. The next one has the number
// of suppressed lines.
func TestOneLinePerSecondAndAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		allow := func(remote string, suppressed int, ok bool) {
			t.Helper()
			n, passed := l.Allow(remote)
			assert.Equal(t, passed, ok, remote)
			assert.Equal(t, n, suppressed, remote)
		}
		allow("192.0.2.1:1000", 0, true)
		for port := range 500 {
			allow(fmt.Sprintf("192.0.2.1:%d", port), 0, false)
		}
		allow("[::ffff:192.0.2.1]:1", 0, false)
		allow("192.0.2.2:1000", 0, true)
		allow("[2001:db8::1]:1", 0, true)
		allow("[2001:db8::2:3]:1", 0, false)
		allow("[2001:db8:0:1::1]:1", 0, true)
		allow("@", 0, true)
		allow("", 0, false)
		time.Sleep(time.Second)
		allow("192.0.2.1:2", 501, true)
		allow("192.0.2.2:1000", 0, true)
		allow("[2001:db8::9]:1", 1, true)
		allow("", 1, true)
		time.Sleep(time.Second)
		allow("192.0.2.1:2", 0, true)
	})
}

// The number of addresses is bounded, and every suppressed line is counted.
func TestAddressesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		passed, told := 0, 0
		const addresses, times = 50_000, 2
		for range times {
			for i := range addresses {
				n, ok := l.Allow(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&0xff, i&0xff))
				if ok {
					passed++
				}
				told += n
			}
		}
		assert.Equal(t, passed, maxAddresses)
		assert.Equal(t, len(l.last), maxAddresses)
		time.Sleep(time.Second)
		n, ok := l.Allow("192.0.2.1:1")
		assert.Assert(t, ok)
		assert.Equal(t, passed+told+n, addresses*times)
		assert.Equal(t, len(l.last), 1)
	})
}

func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, nil))
		var l Limiter
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() { l.Log(log.Warn, "192.0.2.1:7", "refused", "error", "no") })
		}
		callers.Wait()
		time.Sleep(time.Second)
		l.Log(log.Info, "192.0.2.1:7", "refused")
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		assert.Equal(t, len(lines), 2)
		assert.Assert(t,
			strings.HasSuffix(lines[0], `level=WARN msg=refused error=no remote=192.0.2.1:7`),
			lines[0])
		assert.Assert(t,
			strings.HasSuffix(lines[1], `level=INFO msg=refused remote=192.0.2.1:7 suppressed=99`),
			lines[1])
	})
}

func TestNetwork(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "192.0.2.1": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1",
		"[2001:db8::1:2]:80": "2001:db8::", "[fe80::1%eth0]:80": "fe80::", "2001:db8::1": "2001:db8::",
		"": "invalid IP", "@": "invalid IP", "a.example:80": "invalid IP",
	} {
		assert.Equal(t, Network(remote).String(), want, remote)
	}
}
