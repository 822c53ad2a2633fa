package transport

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
	"github.com/stdwire/stdwire/cmd/stdwire/internal/filewatch"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

// bearerToken are the flags for the token that clients of the HTTP server must send.
type bearerToken struct{ env, file string }

func (b *bearerToken) flags() []command.Flag {
	return []command.Flag{
		{Name: "--token-env", Value: "NAME",
			Help: "environment variable that holds the bearer token for --http, 16 bytes or more (default: a random token, which is printed)",
			Set: func(value string) (err error) {
				if _, err = tokenOf("--token-env", value); err == nil {
					b.env = value
				}
				return err
			}},
		command.FileFlag(&b.file, target.TokenFileFlag,
			"a file with the bearer token for --http, which others cannot read; it is read again when it changes"),
	}
}

// TakeTokenFile returns the value of --token-file and resets it, for a command in which the flag
// has another meaning without --http.
func (w *HTTPFlags) TakeTokenFile() (path string) {
	path, w.token.file = w.token.file, ""
	return path
}

// tokenOf returns the token in the environment variable that a flag names.
func tokenOf(flag, variable string) (token string, err error) {
	switch token = os.Getenv(variable); {
	case token == "":
		return "", command.Usagef("%s: the environment variable %s is empty", flag, variable)
	case len(token) < target.MinToken:
		return "", command.Usagef("%s: the token in %s has fewer than %d bytes and could be guessed",
			flag, variable, target.MinToken).WithHint("create one with: openssl rand -hex 16")
	}
	return token, nil
}

// given returns the name of a given flag, or "".
func (b *bearerToken) given() string {
	return command.FirstGiven("--token-env", b.env, target.TokenFileFlag, b.file)
}

var errToken = errors.New("the bearer token is missing or wrong")

// check returns the function that checks the token of a request. Without a flag it prints a random
// token.
func (b *bearerToken) check(std *term.Streams, log *slog.Logger) (func(*http.Request) error,
	error) {
	var want func() [sha256.Size]byte
	switch {
	case b.file != "":
		file := &filewatch.Value[[sha256.Size]byte]{What: "the bearer token", Paths: []string{b.file},
			Read: target.ReadSecret, Log: log,
			Parse: func(contents [][]byte) (sum [sha256.Size]byte, err error) {
				token, err := target.ParseToken(b.file, contents[0])
				return tokenDigest(token), err
			}}
		if err := file.Load(); err != nil {
			return nil, command.Usagef("%s: %v", target.TokenFileFlag, err)
		}
		want = file.Get
	default:
		token := os.Getenv(b.env)
		if b.env == "" {
			token = rand.Text()
			std.Err.Printf("stdwire: the bearer token is %s", token)
		}
		sum := tokenDigest(token)
		want = func() [sha256.Size]byte { return sum }
	}
	return func(r *http.Request) error { return checkBearer(r, want()) }, nil
}

// tokenDigest returns the digest of a token. Digests can be compared in constant time.
func tokenDigest(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// checkBearer returns an error unless a request has the bearer token with this digest.
func checkBearer(r *http.Request, want [sha256.Size]byte) error {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got := tokenDigest(strings.TrimSpace(given))
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return errToken
	}
	return nil
}
