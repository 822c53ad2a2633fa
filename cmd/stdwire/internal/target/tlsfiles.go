package target

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// tlsFiles are the flags for TLS to a server at a URL.
type tlsFiles struct{ ca, certificate, key string }

func (f *tlsFiles) flags() []command.Flag {
	return []command.Flag{
		command.FileFlag(&f.ca, "--tls-ca",
			"certificates (PEM) of the authorities that are trusted for --url, in place of those of the system"),
		command.FileFlag(&f.certificate, "--tls-client-cert",
			"the certificate (PEM) that is shown to the server at --url"),
		command.FileFlag(&f.key, "--tls-client-key", "the private key of it"),
	}
}

// given returns the name of a given flag, or "".
func (f *tlsFiles) given() string {
	switch {
	case f.ca != "":
		return "--tls-ca"
	case f.certificate != "":
		return "--tls-client-cert"
	case f.key != "":
		return "--tls-client-key"
	}
	return ""
}

// config reads the files. It returns nil if no flag is given.
func (f *tlsFiles) config() (*tls.Config, error) {
	if f.given() == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		content, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, command.Usagef("--tls-ca: %v", err)
		}
		if c.RootCAs, err = ParseAuthorities(f.ca, content); err != nil {
			return nil, command.Usagef("--tls-ca: %v", err)
		}
	}
	if f.certificate == "" && f.key == "" {
		return c, nil
	}
	if f.certificate == "" || f.key == "" {
		return nil, command.Usagef("--tls-client-cert and --tls-client-key belong together")
	}
	pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
	if err != nil {
		return nil, command.Usagef("--tls-client-cert: %v", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// ParseAuthorities returns the certificates in the content of a file.
func ParseAuthorities(path string, content []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s has no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----",
			path)
	}
	return pool, nil
}
