package transport

import (
	"crypto/tls"
	"fmt"
	"log/slog"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/filewatch"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
)

// tlsFlags are the flags for TLS of the HTTP server.
type tlsFlags struct{ certificate, key, clientCA string }

func (f *tlsFlags) flags() []command.Flag {
	return []command.Flag{
		command.FileFlag(&f.certificate, "--tls-cert",
			"serve --http over TLS with this certificate (PEM) and those after it; the files are read again when they change"),
		command.FileFlag(&f.key, "--tls-key", "the private key (PEM) of --tls-cert"),
		command.FileFlag(&f.clientCA, "--tls-client-ca",
			"admit only clients with a certificate of these authorities (PEM), without a token unless one is given"),
	}
}

// given returns the name of a given flag, or "".
func (f *tlsFlags) given() string {
	return command.FirstGiven("--tls-cert", f.certificate, "--tls-key", f.key,
		"--tls-client-ca", f.clientCA)
}

func (f *tlsFlags) check() error {
	switch {
	case f.given() == "", f.certificate != "" && f.key != "":
		return nil
	case f.certificate == "" && f.key == "":
		return command.Usagef("--tls-client-ca needs TLS").WithHint(
			"add --tls-cert FILE --tls-key FILE")
	}
	return command.Usagef("--tls-cert and --tls-key belong together")
}

// config returns the configuration of the server, or nil without TLS. It follows the files.
func (f *tlsFlags) config(log *slog.Logger) (*tls.Config, error) {
	if f.given() == "" {
		return nil, nil
	}
	files := filewatch.PEM("the TLS certificate", f.parse, log, f.certificate, f.key)
	if f.clientCA != "" {
		files.Paths = append(files.Paths, f.clientCA)
	}
	if err := files.Load(); err != nil {
		return nil, command.Usagef("--tls-cert: %v", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return files.Get(), nil
		}}, nil
}

// parse returns the configuration with these contents of the files.
func (f *tlsFlags) parse(contents [][]byte) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", f.certificate, f.key, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
		NextProtos: []string{"http/1.1"}}
	if f.clientCA != "" {
		if c.ClientCAs, err = target.ParseAuthorities(f.clientCA, contents[2]); err != nil {
			return nil, err
		}
		c.ClientAuth = tls.RequireAndVerifyClientCert
		// A resumed session would not notice that an authority is no longer trusted.
		c.SessionTicketsDisabled = true
	}
	return c, nil
}
