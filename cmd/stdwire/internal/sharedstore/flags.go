// Package sharedstore is the store that the replicas of a server share, as the flags of a command
// say: opening it, following whether it can be reached, and saying which parts of the program do
// without it.
package sharedstore

import (
	"log/slog"
	"os"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/login"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/transport"
	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/store"
	"github.com/stdwire/stdwire/server/streamable"
)

// Flags are the flags for the store.
type Flags struct {
	url, prefix               string
	passwordEnv, passwordFile string
	forward                   forwardFlags
}

const (
	storeFlag        = "--store"
	passwordEnvFlag  = "--store-password-env"
	passwordFileFlag = "--store-password-file"
	prefixFlag       = "--store-prefix"
)

// Flags returns the flags.
func (f *Flags) Flags() []command.Flag {
	return []command.Flag{
		{Name: storeFlag, Value: "URL",
			Help: "a server of the Redis protocol, redis://[USER@]HOST[:PORT][/DATABASE], rediss:// for TLS or unix:///PATH, which several servers share; see stdwire help store",
			Set: func(value string) error {
				_, err := redis.ParseURL(value)
				f.url = value
				return err
			}},
		command.TextFlag(&f.passwordEnv, passwordEnvFlag, "NAME",
			"environment variable that holds the password of the store"),
		command.FileFlag(&f.passwordFile, passwordFileFlag,
			"a file with the password of the store, which others cannot read"),
		command.TextFlag(&f.prefix, prefixFlag, "TEXT",
			"begins all keys in the store, of which only servers with the same prefix share anything (default stdwire:)"),
	}
}

// IsGiven reports whether there is a store.
func (f *Flags) IsGiven() bool { return f.url != "" }

// ReliedOn returns the files that the flags name.
func (f *Flags) ReliedOn() (all []transport.ReliedOn) {
	for _, r := range []transport.ReliedOn{
		{What: "the password of the store", Path: f.passwordFile},
		{What: "the certificate authorities of other servers", Path: f.forward.ca},
		{What: "the certificate for other servers", Path: f.forward.certificate},
		{What: "the key of the certificate for other servers", Path: f.forward.key},
	} {
		if r.Path != "" {
			all = append(all, r)
		}
	}
	return all
}

// Check returns an error if flags contradict each other. The secret is that of the servers.
func (f *Flags) Check(secret []byte) error {
	given := command.FirstGiven(passwordEnvFlag, f.passwordEnv, passwordFileFlag, f.passwordFile,
		prefixFlag, f.prefix, replicaURLFlag, f.forward.url)
	switch {
	case f.url == "" && given != "":
		return command.Usagef("%s is for a store", given).WithHint("add --store URL")
	case f.passwordEnv != "" && f.passwordFile != "":
		return command.Usagef("%s and %s exclude each other", passwordEnvFlag, passwordFileFlag)
	case f.url != "" && secret == nil:
		return command.Usagef("--store needs the secret that the servers share, which seals what is " +
			"in the store").WithHint("add " + transport.StateKeyEnvFlag + " NAME or " +
			transport.StateKeyFileFlag + " FILE")
	}
	return f.forward.check()
}

// CheckLogins returns an error if logins of users are to be in a file besides.
func (f *Flags) CheckLogins(logins *login.Flags) error {
	if given := logins.Given(); f.url != "" && given != "" {
		return command.Usagef("%s is for logins in a file, and %s excludes it: there they are in "+
			"the store, sealed with the state key", given, storeFlag)
	}
	return nil
}

// password returns the password that the flags name, or "".
func (f *Flags) password() (string, error) {
	switch {
	case f.passwordEnv != "":
		password := os.Getenv(f.passwordEnv)
		if password == "" {
			return "", command.Usagef("%s: the environment variable %s is empty", passwordEnvFlag,
				f.passwordEnv)
		}
		return password, nil
	case f.passwordFile != "":
		content, err := target.ReadSecret(f.passwordFile)
		password := strings.TrimSpace(string(content))
		if err == nil && password == "" {
			return "", command.Usagef("%s: %s is empty", passwordFileFlag, f.passwordFile)
		}
		if err != nil {
			err = command.Usagef("%s: %v", passwordFileFlag, err)
		}
		return password, err
	}
	return "", nil
}

// Open opens the store that the flags name, and returns nil if they name none. What is stored there
// is sealed with the secret. Open does not wait until the store can be reached. The caller adds
// what uses it, starts it, and closes it.
func (f *Flags) Open(secret []byte, log *slog.Logger) (*Store, error) {
	if f.url == "" {
		return nil, nil
	}
	password, err := f.password()
	if err != nil {
		return nil, err
	}
	s := newStore(log)
	s.Redis, err = store.Open(f.url, store.Options{Password: password, Secret: secret,
		Prefix: f.prefix, Changed: s.change})
	if err != nil {
		return nil, command.Usagef("%s: %s", storeFlag, strings.TrimPrefix(err.Error(), "store: "))
	}
	return s, nil
}

// OpenSessions opens the store of the sessions of a server over HTTP, on connections of its own, or
// returns nil if there is none. The caller closes it after the server.
func (f *Flags) OpenSessions(secret []byte) (*streamable.Store, error) {
	if f.url == "" {
		return nil, nil
	}
	password, err := f.password()
	if err != nil {
		return nil, err
	}
	return streamable.StoreOptions{Secret: secret, Password: password, Prefix: f.prefix}.Open(f.url)
}
