package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// bearerToken are the flags for the token that clients of the HTTP server must send.
type bearerToken struct{ env, file string }

func (b *bearerToken) flags() []command.Flag {
	return []command.Flag{
		{Name: "--token-env", Value: "NAME",
			Help: "environment variable that holds the bearer token for --http, 16 bytes or more (default: a random token, which is printed)",
			Set: func(value string) error {
				switch token := os.Getenv(value); {
				case token == "":
					return command.Usagef("--token-env: the environment variable %s is empty",
						value)
				case len(token) < target.MinToken:
					return command.Usagef(
						"--token-env: the token in %s has fewer than %d bytes and could be guessed",
						value, target.MinToken).WithHint("create one with: openssl rand -hex 16")
				}
				b.env = value
				return nil
			}},
		command.FileFlag(&b.file, target.TokenFileFlag,
			"a file with the bearer token for --http, which others cannot read; it is read again when it changes"),
	}
}

// given returns the name of a given flag, or "".
func (b *bearerToken) given() string {
	switch {
	case b.env != "":
		return "--token-env"
	case b.file != "":
		return target.TokenFileFlag
	}
	return ""
}

var errToken = errors.New("the bearer token is missing or wrong")

// check returns the function that checks the token of a request. Without a flag it prints a random
// token.
func (b *bearerToken) check(std *term.Streams, log *slog.Logger) (func(*http.Request) error,
	error) {
	digest := func(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }
	var want func() [sha256.Size]byte
	switch {
	case b.file != "":
		file := &fileValue[[sha256.Size]byte]{what: "the bearer token", paths: []string{b.file},
			read: target.ReadSecret, log: log,
			parse: func(contents [][]byte) (sum [sha256.Size]byte, err error) {
				token, err := target.ParseToken(b.file, contents[0])
				return digest(token), err
			}}
		if err := file.load(); err != nil {
			return nil, command.Usagef("%s: %v", target.TokenFileFlag, err)
		}
		want = file.get
	default:
		token := os.Getenv(b.env)
		if b.env == "" {
			token = rand.Text()
			std.Err.Printf("stdwire: the bearer token is %s", token)
		}
		sum := digest(token)
		want = func() [sha256.Size]byte { return sum }
	}
	return func(r *http.Request) error {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got, want := digest(strings.TrimSpace(given)), want()
		if !strings.EqualFold(scheme, "Bearer") ||
			subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			return errToken
		}
		return nil
	}, nil
}
