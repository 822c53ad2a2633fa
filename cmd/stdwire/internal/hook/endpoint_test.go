package hook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/dispatch"
)

// The example of Standard Webhooks and of its libraries.
func TestSign(t *testing.T) {
	key, err := parseSecret([]byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"))
	assert.NilError(t, err)
	h := http.Header{}
	sign(h, key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0),
		[]byte(`{"test": 2432232314}`))
	assert.DeepEqual(t, h, http.Header{"Webhook-Id": {"msg_p5jXN8AQM9LWM0D4loKWxJek"},
		"Webhook-Timestamp": {"1614265330"},
		"Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}})
}

func TestParseSecret(t *testing.T) {
	for _, text := range []string{"", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa==", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa!w",
		"whsec_" + strings.Repeat("MfKQ", 22)} {
		_, err := parseSecret([]byte(text))
		assert.ErrorContains(t, err, "the secret is not whsec_ and 24 to 64 bytes in base64")
		assert.Assert(t, text == "" || text == "whsec_" || !strings.Contains(err.Error(), text))
	}
}

func TestParseProgram(t *testing.T) {
	for value, want := range map[string]string{
		"http://hook.example/x?k=s3cret": "http://hook.example/x is not encrypted",
		"https://":                       "it is not a URL",
		"https://ada:s3cret@x.example":   "https://x.example: a user or fragment has no effect",
		"https://x.example/#s3cret":      "https://x.example/: a user or fragment has no effect",
		"persistent:":                    "the command is missing",
		"persistent: 'a":                 "is incomplete",
	} {
		_, err := parse(value)
		assert.ErrorContains(t, err, want)
		assert.Assert(t, !strings.Contains(err.Error(), "s3cret"))
	}
	for value, want := range map[string]Program{
		"python3 'a b'":             {words: []string{"python3", "a b"}},
		"persistent: python3 'a b'": {words: []string{"python3", "a b"}, persistent: true},
	} {
		p, err := parse(value)
		assert.NilError(t, err)
		assert.DeepEqual(t, p.words, want.words)
		assert.Equal(t, p.persistent, want.persistent)
	}
	for _, value := range []string{"https://x.example/a?b", "HTTP://localhost:8/", "http://[::1]/"} {
		p, err := parse(value)
		assert.NilError(t, err)
		assert.Assert(t, p.url != nil && p.Words() == nil)
	}
}

// Where the secret is, and that it is needed, and only for URLs.
func TestConfig(t *testing.T) {
	t.Setenv("HOOK_SECRET", "whsec_"+strings.Repeat("MfKQ", 8))
	file := filepath.Join(t.TempDir(), "secret")
	assert.NilError(t, os.WriteFile(file, []byte("whsec_"+strings.Repeat("MfKR", 8)+"\n"), 0o600))
	bad := filepath.Join(t.TempDir(), "bad")
	assert.NilError(t, os.WriteFile(bad, []byte("s3cret"), 0o600))
	for _, tt := range []struct {
		hook   string
		secret secret
		err    string
		key    string
	}{
		{hook: "true", secret: secret{env: "HOOK_SECRET"}, err: "--hook-secret-env is for hooks with a URL"},
		{hook: "https://x.example", err: "a hook with a URL needs a secret"},
		{hook: "https://x.example", secret: secret{"HOOK_SECRET", file}, err: "exclude each other"},
		{hook: "https://x.example", secret: secret{env: "HOOK_SECRE"},
			err: "--hook-secret-env: HOOK_SECRE: the secret is not whsec_"},
		{hook: "https://x.example", secret: secret{file: bad}, err: "the secret is not whsec_"},
		{hook: "https://x.example", secret: secret{file: file + ".none"}, err: "--hook-secret-file: "},
		{hook: "https://x.example", secret: secret{env: "HOOK_SECRET"}, key: "MfKQ"},
		{hook: "https://x.example", secret: secret{file: file}, key: "MfKR"},
	} {
		var c Config
		assert.NilError(t, set(&c.after)(tt.hook))
		c.secret = tt.secret
		err := c.Check()
		var hooks *Hooks
		if err == nil {
			hooks, err = c.Start(slog.New(slog.DiscardHandler))
		}
		if tt.err != "" {
			assert.ErrorContains(t, err, tt.err)
			assert.Assert(t, !strings.Contains(err.Error(), "s3cret"))
			continue
		}
		assert.NilError(t, err)
		assert.Equal(t, base64.StdEncoding.EncodeToString(hooks.endpoints[0].key()),
			strings.Repeat(tt.key, 8))
		hooks.Close()
	}
}

var testKey = []byte("0123456789abcdef0123456789abcdef")

// served returns a hook at a server, whose requests must be signed.
func served(t testing.TB, log io.Writer, answer http.HandlerFunc) *hook {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.Check(t, err == nil && r.Method == http.MethodPost && r.URL.RawQuery == "k=s3cret")
		mac := hmac.New(sha256.New, testKey)
		mac.Write([]byte(r.Header.Get("webhook-id") + "." +
			r.Header.Get("webhook-timestamp") + "."))
		mac.Write(body)
		assert.Check(t, r.Header.Get("webhook-signature") ==
			"v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		sent, err := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
		assert.Check(t, err == nil && time.Since(time.Unix(sent, 0)).Abs() < 5*time.Minute)
		assert.Check(t, len(r.Header["Idempotency-Key"]) == 0)
		assert.Check(t, string(body) ==
			`{"phase":"before","server":"files","tool":"read","arguments":{"a": 1}}`)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL + "/hook?k=s3cret")
	assert.NilError(t, err)
	h, e := newEndpoint(u, func() []byte { return testKey },
		slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(e.client.CloseIdleConnections)
	h.timeout, e.maxAnswer = time.Minute, 1<<20
	return h
}

func (h *hook) callBefore(ctx context.Context) (after string, err error) {
	_, err = h.before(func(_ context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
		after = string(i.Arguments)
		return nil, nil
	})(ctx, &dispatch.Invocation{Kind: "tool", Server: "files", Name: "read",
		Arguments: json.RawMessage(`{"a": 1}`)})
	return after, err
}

// What a server answers decides what becomes of the call. Whatever it was not told to do refuses
// it, and no text names the query of the URL.
func TestEndpoint(t *testing.T) {
	var followed bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		followed = true
	}))
	defer other.Close()
	for _, tt := range []struct {
		status    int
		body      string
		arguments string // afterwards
		err       string
	}{
		{200, "", `{"a": 1}`, ""},
		{204, "", `{"a": 1}`, ""},
		{200, "\n{}\n", `{"a": 1}`, ""},
		{202, `{"arguments":{"b":2}}`, `{"b":2}`, ""},
		{200, `{"deny":"no"}`, "", "no"},
		{200, `no`, "", "its answer is not JSON"},
		{200, `{"id":1}`, "", `and has "id"`},
		{200, strings.Repeat(" ", 1<<20+1), "", "its answer has more than 1048576 bytes"},
		{302, "", "", "its answer has the status 302; redirects are not followed"},
		{307, "", "", "its answer has the status 307; redirects are not followed"},
		{403, `{"deny":"no"}`, "", "its answer has the status 403"},
		{500, `{}`, "", "its answer has the status 500"},
		{0, "", "", "it cannot be reached"},
		{1, "", "", "it cannot be reached"},
	} {
		var log bytes.Buffer
		h := served(t, &log, func(w http.ResponseWriter, r *http.Request) {
			switch tt.status {
			case 0: // ends before the response
				panic(http.ErrAbortHandler)
			case 1: // ends within it
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, "{}")
				return
			}
			w.Header().Set("Location", other.URL)
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		arguments, err := h.callBefore(t.Context())
		if tt.err == "" {
			assert.NilError(t, err)
			assert.Equal(t, arguments, tt.arguments)
			continue
		}
		assert.ErrorContains(t, err, tt.err)
		assert.Equal(t, log.Len() > 0, strings.Contains(err.Error(), "failed: "), tt.err)
		assert.Assert(t, !strings.Contains(err.Error()+log.String(), "s3cret"), log.String())
	}
	assert.Assert(t, !followed)
}

// Calls share a connection, which may have ended between two of them.
func TestEndpointConnections(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex // each connection has a goroutine
	remotes := map[string]bool{}
	ends := false
	h := served(t, &log, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if ends && remotes[r.RemoteAddr] {
			panic(http.ErrAbortHandler)
		}
		remotes[r.RemoteAddr] = true
	})
	for range 5 {
		_, err := h.callBefore(t.Context())
		assert.NilError(t, err)
	}
	mu.Lock()
	before := len(remotes)
	ends = true
	mu.Unlock()
	assert.Assert(t, before < 5)
	for range 3 {
		_, err := h.callBefore(t.Context())
		assert.NilError(t, err)
	}
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, len(remotes), before+3)
	assert.Equal(t, log.Len(), 0)
}

// A server that does not answer refuses the call when its time is over, and a call that its client
// cancels ends at once.
func TestEndpointSilent(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		var log bytes.Buffer
		asked := make(chan struct{}, 1)
		h := served(t, &log, func(_ http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancel(t.Context())
		if cancels {
			go func() {
				<-asked
				cancel()
			}()
			_, err := h.callBefore(ctx)
			assert.ErrorIs(t, err, context.Canceled)
			continue
		}
		h.timeout = 100 * time.Millisecond
		_, err := h.callBefore(ctx)
		cancel()
		assert.ErrorContains(t, err, `/hook" failed: it did not answer within 100ms`)
		assert.Assert(t, cmp.Contains(log.String(), "the call is refused"))
	}
}
