//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/commandtest"
)

// selfSigned writes a certificate for 127.0.0.1, its own authority, and its key.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "self"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(50, 0, 0), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &private.PublicKey, private)
	assert.NilError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	assert.NilError(t, err)
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		certificate: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		assert.NilError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	return certificate, key
}

// endpoint returns the URL at which the program serves MCP.
func (s *served) endpoint() string {
	_, url, _ := strings.Cut(s.serving, "serving MCP at ")
	url, _, _ = strings.Cut(url, ",")
	return url
}

// tokenFile writes a token to a file that only its user can read.
func tokenFile(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	assert.NilError(t, os.WriteFile(path, []byte(token+"\n"), 0o600))
	return path
}

const aToken, anotherToken = "0123456789abcdef", "fedcba9876543210"

// Clients need the token, and the authority of the certificate; another token is valid after the
// file has changed.
func TestServeTLS(t *testing.T) {
	if commandtest.InOwnProcess(t) {
		return
	}
	ownRuntime(t)
	certificate, key := selfSigned(t)
	token := tokenFile(t, aToken)
	s := servingHTTP(t, "--root", t.TempDir(), "--tls-cert", certificate, "--tls-key", key,
		"--token-file", token)
	assert.Assert(t, strings.HasPrefix(s.endpoint(), "https://127.0.0.1:"), s.serving)
	list := func(flags ...string) ran {
		t.Helper()
		return run(t, append([]string{"ls", "--url", s.endpoint()}, flags...)...)
	}
	got := list("--tls-ca", certificate, "--token-file", token)
	assert.Equal(t, got.code, 0, got.stderr)
	got = list("--tls-ca", certificate, "--token-file", tokenFile(t, anotherToken))
	assert.Equal(t, got.code, 3, got.stderr)
	got = list("--token-file", token)
	assert.Equal(t, got.code, 4, got.stderr)
	assert.Assert(t, strings.Contains(got.stderr, "certificate signed by unknown authority"),
		got.stderr)

	assert.NilError(t, os.WriteFile(token, []byte(anotherToken), 0o600))
	waitFor(t, func() string {
		return list("--tls-ca", certificate, "--token-file", token).stderr
	})
	got = list("--tls-ca", certificate, "--token-file", tokenFile(t, aToken))
	assert.Equal(t, got.code, 3, got.stderr)
	assert.NilError(t, os.Chmod(token, 0o644))
	s.says("the bearer token has changed")
	waitFor(t, func() string { // a request makes it look at the file
		list("--tls-ca", certificate, "--token-file", tokenFile(t, anotherToken))
		select {
		case line := <-s.stderr:
			if strings.Contains(line, "can be read or changed by others: chmod 600 "+token) {
				return ""
			}
		default:
		}
		return "the file is not refused"
	})
}

// A certificate takes the place of a token.
func TestServeClientCertificates(t *testing.T) {
	ownRuntime(t)
	certificate, key := selfSigned(t)
	s := servingHTTP(t, "--root", t.TempDir(), "--tls-cert", certificate, "--tls-key", key,
		"--tls-client-ca", certificate)
	got := run(t, "ls", "--url", s.endpoint(), "--tls-ca", certificate)
	assert.Equal(t, got.code, 4, got.stderr)
	assert.Assert(t, strings.Contains(got.stderr, "certificate required"), got.stderr)
	got = run(t, "ls", "--url", s.endpoint(), "--tls-ca", certificate, "--tls-client-cert",
		certificate, "--tls-client-key", key)
	assert.Equal(t, got.code, 0, got.stderr)
}

// A configured server has files for TLS, for commands and gateways alike.
func TestConfiguredServerWithTLS(t *testing.T) {
	ownRuntime(t)
	certificate, key := selfSigned(t)
	s := servingHTTP(t, "--root", t.TempDir(), "--tls-cert", certificate, "--tls-key", key,
		"--tls-client-ca", certificate)
	path := filepath.Join(filepath.Dir(certificate), "mcp.json")
	write := func(server obj) {
		assert.NilError(t, os.WriteFile(path, configText(t, obj{"far": server}), 0o600))
	}
	write(obj{"url": s.endpoint(), "tlsCA": certificate, "tlsClientCert": certificate,
		"tlsClientKey": key})
	got := run(t, "tools", "-s", "far", "--config", path)
	assert.Equal(t, got.code, 0, got.stderr)
	gateway := servingFile(t, path, "--no-auth")
	got = run(t, "tools", "--url", gateway.endpoint())
	assert.Equal(t, got.code, 0, got.stderr)
	assert.Assert(t, strings.Contains(got.stdout, "far__fs_list"), got.stdout)
	got = run(t, "config", "show", "--config", path)
	assert.Assert(t, strings.Contains(got.stdout, `"tlsClientKey"`), got.stdout)

	write(obj{"url": s.endpoint(), "tlsCA": key})
	got = run(t, "tools", "-s", "far", "--config", path)
	assert.Equal(t, got.code, 8, got.stderr)
	assert.Assert(t, strings.Contains(got.stderr, "tlsCA: "+key+" has no certificate in PEM"),
		got.stderr)
	write(obj{"url": s.endpoint(), "tlsClientCert": certificate})
	got = run(t, "config", "check", "--config", path)
	assert.Equal(t, got.code, 8, got.stderr)
	assert.Assert(t, strings.Contains(got.stderr+got.stdout,
		"tlsClientCert and tlsClientKey belong together"), got.stderr)
}

// Flags for tokens and TLS that are wrong, or have no effect, are refused with a remedy.
func TestTLSFlagsRefused(t *testing.T) {
	certificate, key := selfSigned(t)
	short, open := tokenFile(t, "short"), tokenFile(t, aToken)
	assert.NilError(t, os.Chmod(open, 0o640))
	for _, tt := range []struct{ args, want string }{
		{"serve --token-file " + open, "--token-file is for clients over HTTP"},
		{"serve --tls-key x", "--tls-key is for clients over HTTP"},
		{"serve --http 127.0.0.1:0 --token-file " + short, "openssl rand -hex 16"},
		{"serve --http 127.0.0.1:0 --token-file " + open, "chmod 600 " + open},
		{"serve --http 127.0.0.1:0 --no-auth --token-file " + open, "exclude each other"},
		{"serve --http 127.0.0.1:0 --tls-cert " + certificate, "belong together"},
		{"serve --http 127.0.0.1:0 --tls-cert " + key + " --tls-key " + certificate, "--tls-cert: "},
		{"ls --token-file " + short, "--token-file is for a server at a --url"},
		{"ls --tls-ca x", "--tls-ca is for a server at a --url"},
		{"ls --url https://x.example --token-file " + open, "chmod 600 " + open},
		{"ls --url https://x.example --tls-ca " + key, "has no certificate in PEM"},
		{"ls --url https://x.example --tls-client-key " + key, "belong together"},
		{"doctor --tls-ca x", "--tls-ca is for a server at a --url"},
		{"bridge --tls-ca x -- true", "--tls-ca is for a server at a --url"},
	} {
		got := run(t, strings.Fields(tt.args)...)
		assert.Equal(t, got.code, 2, "%s: %s", tt.args, got.stderr)
		assert.Assert(t, strings.Contains(got.stderr, tt.want), "%s: %s", tt.args, got.stderr)
	}
}
