package sharedstore

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/transport"
	"github.com/stdwire/stdwire/internal/lockedbuffer"
	"github.com/stdwire/stdwire/internal/rate"
	"github.com/stdwire/stdwire/internal/redis/redistest"
	"github.com/stdwire/stdwire/rpc/mcp/telemetry"
)

var secret = []byte(strings.Repeat("s", 32))

// parsed returns the flags that arguments give.
func parsed(t *testing.T, arguments ...string) (*Flags, error) {
	f := new(Flags)
	for i := 0; i < len(arguments); i += 2 {
		for _, flag := range append(f.Flags(), f.ForwardFlags()...) {
			if flag.Name == arguments[i] {
				if err := flag.Set(arguments[i+1]); err != nil {
					return f, err
				}
			}
		}
	}
	return f, f.Check(secret)
}

// opened opens a store for a part that does without it when it is slow, and returns its log.
func opened(t *testing.T, slow *bool, arguments ...string) (*Store, *lockedbuffer.Buffer) {
	f, err := parsed(t, arguments...)
	assert.NilError(t, err)
	log := new(lockedbuffer.Buffer)
	s, err := f.Open(secret, slog.New(slog.NewTextHandler(log, nil)))
	assert.NilError(t, err)
	s.Use(Part{Name: "rates", Without: "nothing is allowed", DoesWithout: func() bool { return *slow }})
	s.Start(nil)
	t.Cleanup(s.Close)
	return s, log
}

// contains waits until a log has a text.
func contains(t *testing.T, log *lockedbuffer.Buffer, text string) {
	t.Helper()
	containsTimes(t, log, text, 1)
}

// containsTimes waits until a log has a text so many times.
func containsTimes(t *testing.T, log *lockedbuffer.Buffer, text string, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); strings.Count(log.String(), text) < n; {
		if time.Now().After(end) {
			t.Fatalf("no %q in %s", text, log)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func readiness(s *Store) string {
	r := transport.Readiness{Ready: true}
	s.AddTo(&r)
	text, _ := json.Marshal(r)
	return string(text)
}

// The log, the status and the readiness say when a store is there, and which part does without it.
func TestFollow(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "hidden", "--maxmemory-policy", "volatile-ttl")
	url := "unix://" + server.Options.Address
	file := filepath.Join(t.TempDir(), "password")
	assert.NilError(t, os.WriteFile(file, []byte("hidden\n"), 0o600))
	slow := false
	s, log := opened(t, &slow, "--store", url, "--store-password-file", file)
	contains(t, log, `msg="the store can be reached" store=`+url)
	contains(t, log, "set maxmemory-policy to noeviction")
	contains(t, log, "maxmemory-policy=volatile-ttl")
	assert.Equal(t, readiness(s), `{"ready":true,"store":{"reachable":true}}`)
	about := s.About()
	assert.Assert(t, about.Reachable && about.Eviction == "volatile-ttl" && about.Server != "", about)
	slow = true
	assert.Equal(t, readiness(s),
		`{"ready":true,"degraded":true,"store":{"reachable":true,"affected":["rates"]}}`)
	slow = false
	server.Kill()
	contains(t, log, `msg="the store cannot be reached"`)
	contains(t, log, `affected="map[rates:nothing is allowed]"`)
	assert.Equal(t, readiness(s),
		`{"ready":true,"degraded":true,"store":{"reachable":false,"affected":["rates"]}}`)
	about = s.About()
	assert.Assert(t, !about.Reachable && about.Error != "" && about.Affected["rates"] != "", about)
	server.Restart()
	containsTimes(t, log, "the store can be reached", 2)
	assert.Equal(t, strings.Count(log.String(), "noeviction"), 1)
	assert.Assert(t, !strings.Contains(log.String(), "hidden"))
}

// A server that has not said what it is, though the connection is there, is asked again.
func TestServerThatIsSlowToSayWhatItIs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	var asked atomic.Int32
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				for in := bufio.NewScanner(c); in.Scan(); {
					answer := ""
					switch in.Text() {
					case "HELLO":
						answer = "%1\r\n+role\r\n+master\r\n"
					case "PING":
						answer = "+PONG\r\n"
					case "INFO":
						if answer = ":1\r\n"; asked.Add(1) > 1 {
							answer = "$27\r\nmaxmemory_policy:noeviction\r\n"
						}
					}
					if _, err := io.WriteString(c, answer); err != nil {
						return
					}
				}
			})
		}
	})
	slow := false
	_, log := opened(t, &slow, "--store", "redis://"+l.Addr().String())
	contains(t, log, "eviction=noeviction")
	assert.Equal(t, strings.Count(log.String(), "cannot be reached"), 0)
}

// A store that does not accept the program at its start is no reason not to start, and says why.
func TestStoreThatRefuses(t *testing.T) {
	master := redistest.Start(t, "--requirepass", "pass")
	replica := redistest.Start(t, "--replicaof", "127.0.0.1", "1")
	t.Setenv("STDWIRE_TEST_SECRET", "hidden")
	slow := false
	for _, tc := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"--store", "unix://" + master.Options.Address}, "the server wants a password"},
		{[]string{"--store", "unix://" + master.Options.Address, "--store-password-env",
			"STDWIRE_TEST_SECRET"}, "accepts no such user and password"},
		{[]string{"--store", "unix://:hidden@" + master.Options.Address},
			"accepts no such user and password"},
		{[]string{"--store", "unix://" + replica.Options.Address}, "the server is a replica"},
		{[]string{"--store", "unix:///nowhere"}, "no such file"},
	} {
		s, log := opened(t, &slow, tc.arguments...)
		assert.Equal(t, readiness(s),
			`{"ready":true,"degraded":true,"store":{"reachable":false,"affected":["rates"]}}`)
		contains(t, log, tc.want)
		assert.Assert(t, strings.Contains(s.About().Error, tc.want), s.About().Error)
		text, err := json.Marshal(s.About())
		assert.NilError(t, err)
		assert.Assert(t, !strings.Contains(log.String()+string(text), "hidden"), log)
	}
}

func TestMetric(t *testing.T) {
	f, err := parsed(t, "--store", "unix:///nowhere")
	assert.NilError(t, err)
	s, err := f.Open(secret, slog.New(slog.DiscardHandler))
	assert.NilError(t, err)
	defer s.Close()
	s.Use(Part{Name: "rates", DoesWithout: func() bool { return false }})
	m := telemetry.Options{}.New()
	s.Start(m)
	var text bytes.Buffer
	assert.NilError(t, m.WritePrometheus(&text))
	assert.Assert(t, strings.Contains(text.String(), `stdwire_store_used{part="rates"} 0`), &text)
}

func TestFlags(t *testing.T) {
	t.Setenv("STDWIRE_TEST_SECRET", "")
	empty := filepath.Join(t.TempDir(), "empty")
	assert.NilError(t, os.WriteFile(empty, []byte("\n"), 0o600))
	for _, tc := range []struct{ arguments, want string }{
		{"--store http://u:hidden@h", "begins with none of"},
		{"--store redis://u:hidden@h/hidden", "not a number"},
		{"--store-prefix a:", "--store-prefix is for a store"},
		{"--store-password-env A", "--store-password-env is for a store"},
		{"--store redis://h --store-password-env A --store-password-file B", "exclude each other"},
		{"--store redis://u:hidden@h --store-password-file " + empty, "is empty"},
		{"--store redis://h --store-password-file /nowhere", "--store-password-file: "},
		{"--store redis://h --store-password-env STDWIRE_TEST_SECRET", "is empty"},
		{"--store redis://u:hidden@h --store-prefix {hidden", "has a brace"},
		{"--replica-url http://a", "--replica-url is for a store"},
		{"--store redis://h --replica-url http://u:hidden@a", "--replica-url: the URL at which"},
		{"--store redis://h --replica-url a:80", "such as http://10.0.0.5:8081"},
		{"--store redis://h --replica-ca A", "--replica-ca is for the addresses of other servers"},
		{"--store redis://h --replica-url https://a --replica-ca /nowhere", "--replica-ca: "},
		{"--store redis://h --replica-url https://a --replica-ca " + empty, "has no certificate"},
		{"--store redis://h --replica-url http://a --replica-ca " + empty, "for addresses of https"},
		{"--store redis://h --replica-url http://a --replica-cert A --replica-key B",
			"--replica-cert is for addresses of https"},
		{"--store redis://h --replica-key A", "--replica-key is for the addresses of other servers"},
		{"--store redis://h --replica-url https://a --replica-cert A", "belong together"},
		{"--store redis://h --replica-url https://a --replica-cert " + empty + " --replica-key " +
			empty, "--replica-cert: "},
	} {
		f, err := parsed(t, strings.Fields(tc.arguments)...)
		if err == nil {
			_, err = f.Forward(slog.New(slog.DiscardHandler))
		}
		if err == nil {
			_, err = f.Open(secret, slog.New(slog.DiscardHandler))
		}
		assert.ErrorContains(t, err, tc.want)
		assert.Assert(t, !strings.Contains(err.Error(), "hidden"), err)
	}
	f, err := parsed(t)
	assert.NilError(t, err)
	s, err := f.Open(nil, nil)
	assert.NilError(t, err)
	s.Start(nil)
	s.AddTo(nil)
	assert.Assert(t, s == nil && s.About() == nil)
	s.Close()
	f, err = parsed(t, "--store", "redis://h")
	assert.NilError(t, err)
	assert.ErrorContains(t, f.Check(nil), "--store needs the secret")
}

// A user who may do what stdwire help store says can count rates and tell what the server is.
func TestLeastUser(t *testing.T) {
	page, err := os.ReadFile("../topic/pages/store.txt")
	assert.NilError(t, err)
	_, command, ok := strings.Cut(string(page), "ACL SETUSER gateway ")
	assert.Assert(t, ok)
	command, _, _ = strings.Cut(command, "\n\n")
	rules := strings.Fields(strings.NewReplacer("\\\n", " ", "PASSWORD", "hidden").Replace(command))
	server := redistest.Start(t, append([]string{"--user", "gateway"}, rules...)...)
	t.Setenv("STDWIRE_TEST_SECRET", "hidden")
	slow := false
	s, log := opened(t, &slow, "--store", "unix://gateway@"+server.Options.Address+"?db=1",
		"--store-password-env", "STDWIRE_TEST_SECRET")
	contains(t, log, "eviction=noeviction")
	limit, err := rate.Per(1, time.Hour, 2)
	assert.NilError(t, err)
	charges := []rate.Charge{{Key: []byte("key"), Limit: limit, Cost: 1}}
	_, _, err = s.Charge(t.Context(), "rates", charges)
	assert.NilError(t, err)
	_, wait, err := s.Peek(t.Context(), "rates", charges)
	assert.NilError(t, err)
	assert.Equal(t, wait, time.Duration(0))
	assert.NilError(t, s.Refund(t.Context(), "rates", charges))
	assert.NilError(t, s.Pause(t.Context(), "rates", "up", time.Hour))
	_, err = s.Get(t.Context(), "k") // a key with the prefix
	assert.NilError(t, err)
}
