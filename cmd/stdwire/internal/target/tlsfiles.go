package target

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// tlsFiles are the flags for TLS to a server at a URL.
type tlsFiles struct{ config.TLS }

func (f *tlsFiles) flags() []command.Flag {
	return []command.Flag{
		command.FileFlag(&f.CA, "--tls-ca",
			"certificates (PEM) of the authorities that are trusted for --url, in place of those of the system"),
		command.FileFlag(&f.ClientCert, "--tls-client-cert",
			"the certificate (PEM) that is shown to the server at --url"),
		command.FileFlag(&f.ClientKey, "--tls-client-key", "the private key of --tls-client-cert"),
	}
}

// given returns the name of a given flag, or "".
func (f *tlsFiles) given() string {
	switch {
	case f.CA != "":
		return "--tls-ca"
	case f.ClientCert != "":
		return "--tls-client-cert"
	case f.ClientKey != "":
		return "--tls-client-key"
	}
	return ""
}

// config reads the files. It returns nil if no flag is given.
func (f *tlsFiles) config() (*tls.Config, error) {
	if (f.ClientCert == "") != (f.ClientKey == "") {
		return nil, command.Usagef("--tls-client-cert and --tls-client-key belong together")
	}
	c, err := loadTLS(f.TLS, "--tls-ca", "--tls-client-cert")
	if err != nil {
		return nil, command.Usagef("%v", err)
	}
	return c, nil
}

// loadTLS reads the files of f. It returns nil if there are none. The other arguments are the names
// of the files in errors.
func loadTLS(f config.TLS, ca, certificate string) (*tls.Config, error) {
	if f == (config.TLS{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		content, err := os.ReadFile(f.CA)
		if err == nil {
			c.RootCAs, err = ParseAuthorities(f.CA, content)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ca, err)
		}
	}
	if f.ClientCert != "" {
		pair, err := tls.LoadX509KeyPair(f.ClientCert, f.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", certificate, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
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
