package transport

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/filewatch"
)

// tlsServer serves the principal of each request over TLS.
func tlsServer(t *testing.T, f *tlsFlags, log *slog.Logger) string {
	t.Helper()
	c, err := f.config(log)
	assert.NilError(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := certificateIdentity(r)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(w, id.Principal())
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	s.Listener = tls.NewListener(s.Listener, c)
	s.Start()
	t.Cleanup(s.Close)
	return "https://" + s.Listener.Addr().String()
}

// get returns the response to a client with this configuration, and the certificate of the server.
func get(url string, c *tls.Config) (text, server string, err error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return "", "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return string(content), response.TLS.PeerCertificates[0].Subject.CommonName, err
}

// refusal returns how the server refuses a client with this configuration. It sends no request: if
// the server has closed the connection before that, an HTTP client may return another error.
func refusal(t *testing.T, url string, c *tls.Config) error {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), c)
	if err != nil {
		return err
	}
	defer conn.Close()
	assert.NilError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Read(make([]byte, 1))
	return err
}

// A new pair of files replaces the certificate of new connections, and a wrong one does not.
func TestTLSFilesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, dir := newAuthority(t), t.TempDir()
		var logged bytes.Buffer
		write := func(name string) {
			certificate, key := ca.issue(name)
			store(t, dir, map[string][]byte{"cert": certificate, "key": key})
		}
		write("one")
		f := &tlsFlags{certificate: filepath.Join(dir, "cert"), key: filepath.Join(dir, "key")}
		files := &filewatch.Value[*tls.Config]{Paths: []string{f.certificate, f.key}, What: "the certificate",
			Read: os.ReadFile, Parse: f.parse,
			Log: slog.New(slog.NewTextHandler(&logged, nil))}
		assert.NilError(t, files.Load())
		name := func() string {
			time.Sleep(time.Second)
			leaf, err := x509.ParseCertificate(files.Get().Certificates[0].Certificate[0])
			assert.NilError(t, err)
			return leaf.Subject.CommonName
		}
		assert.Equal(t, name(), "one")
		write("two")
		assert.Equal(t, name(), "two")
		certificate, _ := ca.issue("three")
		store(t, dir, map[string][]byte{"cert": certificate}) // without its key
		assert.Equal(t, name(), "two")
		assert.Assert(t, strings.Contains(logged.String(), "the last one stays in use"), logged.String())
		write("four")
		assert.Equal(t, name(), "four")
	})
}

// Only clients with a certificate of the authority are admitted, and TLS 1.1 never is.
func TestTLSClientCA(t *testing.T) {
	ca, other, dir := newAuthority(t), newAuthority(t), t.TempDir()
	certificate, key := ca.issue("server")
	store(t, dir, map[string][]byte{"cert": certificate, "key": key, "ca": ca.pem})
	f := &tlsFlags{certificate: filepath.Join(dir, "cert"), key: filepath.Join(dir, "key"),
		clientCA: filepath.Join(dir, "ca")}
	url := tlsServer(t, f, slog.New(slog.DiscardHandler))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.pem)
	shows := func(a *authority) *tls.Config {
		pair, err := tls.X509KeyPair(a.issue("client"))
		assert.NilError(t, err)
		return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
	}
	text, server, err := get(url, shows(ca))
	assert.NilError(t, err)
	assert.Equal(t, text, "x509:CN=CA#localhost")
	assert.Equal(t, server, "server")
	assert.ErrorContains(t, refusal(t, url, &tls.Config{RootCAs: roots}), "certificate required")
	assert.ErrorContains(t, refusal(t, url, shows(other)), "tls:")
	old := shows(ca)
	old.MaxVersion = tls.VersionTLS11
	assert.ErrorContains(t, refusal(t, url, old), "tls:")
}

func TestTLSFlags(t *testing.T) {
	dir := t.TempDir()
	store(t, dir, map[string][]byte{"empty": nil})
	empty := filepath.Join(dir, "empty")
	for _, tt := range []struct {
		flags tlsFlags
		want  string
	}{
		{tlsFlags{certificate: "x"}, "--tls-cert and --tls-key belong together"},
		{tlsFlags{key: "x"}, "--tls-cert and --tls-key belong together"},
		{tlsFlags{clientCA: "x"}, "--tls-client-ca needs TLS"},
		{tlsFlags{clientCA: "x", key: "x"}, "--tls-cert and --tls-key belong together"},
		{tlsFlags{certificate: empty, key: empty}, "--tls-cert: " + empty + " and " + empty},
	} {
		err := tt.flags.check()
		if err == nil {
			_, err = tt.flags.config(slog.New(slog.DiscardHandler))
		}
		assert.ErrorContains(t, err, tt.want)
	}
}
