package streamable

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// A scriptedTransport returns the outcomes of a script, and records the requests.
type scriptedTransport struct {
	script []outcome
	log    []string
}

// An outcome is what a round trip returns. Status 0 is no response.
type outcome struct {
	status   int
	location string
	noBody   bool
	length   int64
	cookie   string
	err      error
}

func (s *scriptedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.log = append(s.log, fmt.Sprintf("%s %s %q %v", r.Method, r.URL, body, r.Header))
	o := s.script[0]
	s.script = s.script[1:]
	if o.status == 0 {
		return nil, o.err
	}
	resp := &http.Response{StatusCode: o.status, Header: http.Header{}, ContentLength: o.length,
		Request: r}
	if o.location != "" {
		resp.Header.Set("Location", o.location)
	}
	if o.cookie != "" {
		resp.Header.Set("Set-Cookie", o.cookie)
	}
	if !o.noBody {
		resp.Body = io.NopCloser(strings.NewReader(fmt.Sprint("body of ", o.status)))
	}
	return resp, o.err
}

// Whatever a transport returns, roundTrip returns what http.Client.Do does, after the same
// requests.
func TestRoundTripIsDo(t *testing.T) {
	plainHTTP := tls.RecordHeaderError{Msg: "not TLS", RecordHeader: [5]byte([]byte("HTTP/"))}
	ok := outcome{status: 200}
	for _, tt := range []struct {
		name   string
		client http.Client
		url    string // "" for the usual one
		script []outcome
	}{
		{"success", http.Client{}, "", []outcome{ok}},
		{"accepted", http.Client{}, "", []outcome{{status: 202}}},
		{"success without a body", http.Client{}, "", []outcome{{status: 204, noBody: true}}},
		{"refused", http.Client{}, "", []outcome{{status: 404}}},
		{"broken", http.Client{}, "", []outcome{{err: errors.New("broken")}}},
		{"not TLS", http.Client{}, "", []outcome{{err: plainHTTP}}},
		{"redirected", http.Client{}, "", []outcome{{status: 307, location: "/b"}, ok}},
		{"redirected, then refused", http.Client{}, "",
			[]outcome{{status: 308, location: "/b"}, {status: 500}}},
		{"redirected, then broken", http.Client{}, "",
			[]outcome{{status: 307, location: "/b"}, {err: errors.New("broken")}}},
		{"redirected by another method", http.Client{}, "",
			[]outcome{{status: 303, location: "/b"}}},
		{"redirected elsewhere", http.Client{}, "",
			[]outcome{{status: 307, location: "http://evil/"}}},
		{"redirected to nowhere", http.Client{}, "", []outcome{{status: 307}}},
		{"cookies", http.Client{}, "",
			[]outcome{{status: 307, location: "/b", cookie: "a=1"}, ok}},
		{"user", http.Client{}, "http://user:secret@here/a", []outcome{ok}},
		{"user, redirected", http.Client{}, "http://user:secret@here/a",
			[]outcome{{status: 307, location: "/b"}, ok}},
		{"timeout", http.Client{Timeout: time.Hour}, "", []outcome{ok}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen []string
			for _, do := range []func(*conn, *http.Request) (*http.Response, error){
				func(c *conn, r *http.Request) (*http.Response, error) {
					return c.httpClient.Do(r)
				},
				(*conn).roundTrip,
			} {
				transport := &scriptedTransport{script: tt.script}
				own := tt.client
				own.Transport = transport
				if tt.name == "cookies" {
					own.Jar, _ = cookiejar.New(nil)
				}
				c := newTestConn(t, tt.url, &own)
				resp, err := do(c, c.request(t.Context(), http.MethodPost, []byte("{}"),
					&legacyState{sessionID: "s"}))
				var b strings.Builder
				fmt.Fprintf(&b, "%q\nerror %v, %v\n", transport.log, err,
					errors.Is(err, http.ErrSchemeMismatch))
				if err == nil {
					text, readErr := io.ReadAll(resp.Body)
					fmt.Fprintf(&b, "%d %q %v", resp.StatusCode, text, readErr)
				}
				seen = append(seen, b.String())
			}
			assert.Equal(t, seen[1], seen[0])
		})
	}
}

// A transport that breaks the rules of [http.RoundTripper] is named in the error.
func TestRoundTripOfBrokenTransport(t *testing.T) {
	for _, broken := range []outcome{{}, {status: 200, noBody: true, length: 5}} {
		c := newTestConn(t, "", &http.Client{
			Transport: &scriptedTransport{script: []outcome{broken}}})
		_, err := c.roundTrip(c.request(t.Context(), http.MethodPost, []byte("{}"), &legacyState{}))
		assert.Error(t, err, "the transport, a *streamable.scriptedTransport, "+
			"returned no response, or one without its body")
	}
}

// newTestConn returns a conn that was opened with own, except that it has no client.
func newTestConn(t *testing.T, target string, own *http.Client) *conn {
	c := Options{HTTP: own, Header: http.Header{"A": {"1"}}}.newConn(target)
	t.Cleanup(func() { _ = c.Close() })
	var err error
	if target == "" {
		target = "http://here/a"
	}
	c.url, err = url.Parse(target)
	assert.NilError(t, err)
	c.httpClient, c.header = c.newHTTPClient(), c.optionsHeader()
	return c
}
