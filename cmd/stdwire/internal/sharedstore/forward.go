package sharedstore

import (
	"crypto/tls"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/internal/userfile"
	"github.com/stdwire/stdwire/server/streamable"
)

const (
	replicaURLFlag = "--replica-url"
	replicaCAFlag  = "--replica-ca"
)

// forwardFlags are the flags for passing requests on to the servers that own their sessions.
type forwardFlags struct{ url, ca string }

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
	}
}

func (f *forwardFlags) check() error {
	if f.ca != "" && f.url == "" {
		return command.Usagef("%s is for the addresses of other servers", replicaCAFlag).WithHint(
			"add " + replicaURLFlag + " https://HOST[:PORT]")
	}
	return nil
}

// ReplicaURL returns the address at which other servers reach this one, or "".
func (f *Flags) ReplicaURL() string { return f.forward.url }

// Forward returns how requests are passed on, or nil if they are not.
func (f *Flags) Forward() (*streamable.Forward, error) {
	if f.forward.url == "" {
		return nil, nil
	}
	o := &streamable.Forward{URL: f.forward.url}
	if f.forward.ca == "" {
		return o, nil
	}
	content, err := userfile.ReadArgument(f.forward.ca, userfile.MaxPEM)
	if err == nil {
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		o.TLS.RootCAs, err = target.ParseAuthorities(f.forward.ca, content)
	}
	if err != nil {
		return nil, command.Usagef("%s: %v", replicaCAFlag, err)
	}
	return o, nil
}
