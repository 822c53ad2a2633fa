package sharedstore

import (
	"crypto/tls"
	"log/slog"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/filewatch"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/server/streamable"
)

const (
	replicaURLFlag  = "--replica-url"
	replicaCAFlag   = "--replica-ca"
	replicaCertFlag = "--replica-cert"
	replicaKeyFlag  = "--replica-key"
)

// forwardFlags are the flags for passing requests on to the servers that own their sessions.
type forwardFlags struct{ url, ca, certificate, key string }

// ForwardFlags returns the flags for passing requests on.
func (f *Flags) ForwardFlags() []command.Flag { return f.forward.flags() }

func (f *forwardFlags) flags() []command.Flag {
	return []command.Flag{
		{Name: replicaURLFlag, Value: "URL",
			Help: "with --store, lets each session belong to the server that opened it, to which the others pass its requests on; the address at which they reach this one, as in http://10.0.0.5:8081; see stdwire help replicas",
			Set: func(value string) error {
				f.url = value
				if err := (&streamable.Forward{URL: value}).Check(); err != nil {
					return command.Usagef("%s: %s", replicaURLFlag,
						strings.TrimPrefix(err.Error(), "streamable: "))
				}
				return nil
			}},
		command.FileFlag(&f.ca, replicaCAFlag,
			"certificates (PEM) of the authorities that are trusted for the --replica-url of the others, in place of those of the system"),
		command.FileFlag(&f.certificate, replicaCertFlag,
			"the certificate (PEM) that this server shows to the others, as their --tls-client-ca wants; it is read again when it changes"),
		command.FileFlag(&f.key, replicaKeyFlag, "the private key (PEM) of --replica-cert"),
	}
}

func (f *forwardFlags) check() error {
	given := command.FirstGiven(replicaCAFlag, f.ca, replicaCertFlag, f.certificate,
		replicaKeyFlag, f.key)
	switch {
	case given != "" && f.url == "":
		return command.Usagef("%s is for the addresses of other servers", given).WithHint(
			"add " + replicaURLFlag + " https://HOST[:PORT]")
	case given != "" && !strings.HasPrefix(strings.ToLower(f.url), "https:"):
		return command.Usagef("%s is for addresses of https, and %s is not one", given,
			replicaURLFlag).WithHint("write https:// there, or leave out " + given)
	case (f.certificate == "") != (f.key == ""):
		return command.Usagef("%s and %s belong together", replicaCertFlag, replicaKeyFlag)
	}
	return nil
}

// ReplicaURL returns the address at which other servers reach this one, or "".
func (f *Flags) ReplicaURL() string { return f.forward.url }

// HasReplicaCertificate reports whether this server has a certificate for the others.
func (f *Flags) HasReplicaCertificate() bool { return f.forward.certificate != "" }

// Forward returns how requests are passed on, or nil if they are not. It follows the files of the
// certificate.
func (f *Flags) Forward(log *slog.Logger) (*streamable.Forward, error) {
	if f.forward.url == "" {
		return nil, nil
	}
	o := &streamable.Forward{URL: f.forward.url}
	if f.forward.ca == "" && f.forward.certificate == "" {
		return o, nil
	}
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if f.forward.ca != "" {
		content, err := userfile.ReadArgument(f.forward.ca, userfile.MaxPEM)
		if err == nil {
			o.TLS.RootCAs, err = target.ParseAuthorities(f.forward.ca, content)
		}
		if err != nil {
			return nil, command.Usagef("%s: %v", replicaCAFlag, err)
		}
	}
	if f.forward.certificate != "" {
		pair, err := f.forward.pair(log)
		if err != nil {
			return nil, command.Usagef("%s: %v", replicaCertFlag, err)
		}
		o.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return pair.Get(), nil
		}
	}
	return o, nil
}

// pair reads the certificate and its key.
func (f *forwardFlags) pair(log *slog.Logger) (*filewatch.Value[*tls.Certificate], error) {
	files := filewatch.PEM("the certificate for other servers",
		func(contents [][]byte) (*tls.Certificate, error) {
			pair, err := tls.X509KeyPair(contents[0], contents[1])
			return &pair, err
		}, log, f.certificate, f.key)
	return files, files.Load()
}
