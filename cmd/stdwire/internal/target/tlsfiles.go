package target

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/internal/userfile"
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
	return command.FirstGiven("--tls-ca", f.CA, "--tls-client-cert", f.ClientCert,
		"--tls-client-key", f.ClientKey)
}

// config reads the files. It returns nil if no flag is given. ca is the content of the file of
// authorities.
func (f *tlsFiles) config() (c *tls.Config, ca []byte, err error) {
	if (f.ClientCert == "") != (f.ClientKey == "") {
		return nil, nil, command.Usagef("--tls-client-cert and --tls-client-key belong together")
	}
	c, ca, err = loadTLS(f.TLS, userfile.ReadArgument, "--tls-ca", "--tls-client-cert")
	if err != nil {
		return nil, nil, command.Usagef("%v", err)
	}
	return c, ca, nil
}

// loadTLS reads the files of f with read. It returns nil if there are none. ca is the content of
// the file of authorities. caName and certName are what errors call this file and those of the
// client.
func loadTLS(f config.TLS, read func(path string, limit int64) ([]byte, error), caName,
	certName string) (c *tls.Config, ca []byte, err error) {
	if f == (config.TLS{}) {
		return nil, nil, nil
	}
	c = &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		ca, err = read(f.CA, userfile.MaxPEM)
		if err == nil {
			c.RootCAs, err = ParseAuthorities(f.CA, ca)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", caName, err)
		}
	}
	if f.ClientCert != "" {
		pair, err := loadKeyPair(f, read)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", certName, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, ca, nil
}

func loadKeyPair(f config.TLS,
	read func(path string, limit int64) ([]byte, error)) (pair tls.Certificate, err error) {
	certificate, err := read(f.ClientCert, userfile.MaxPEM)
	if err != nil {
		return pair, err
	}
	key, err := read(f.ClientKey, userfile.MaxPEM)
	if err != nil {
		return pair, err
	}
	return tls.X509KeyPair(certificate, key)
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
