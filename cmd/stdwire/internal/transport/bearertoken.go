package transport

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tokenfile"
)

// bearerTokens are the flags for the tokens of which clients of the HTTP server must send one: a
// single one without a name, and those of a file.
type bearerTokens struct{ env, file, named string }

// tokensFlag is the name of the flag for a file of named tokens.
const tokensFlag = "--tokens"

func (b *bearerTokens) flags() []command.Flag {
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
		command.FileFlag(&b.named, tokensFlag,
			"a file of named tokens for --http, which stdwire auth token changes; it is read again when it changes, and what a removed token has opened is closed"),
	}
}

// TakeTokenFile returns the value of --token-file and resets it, for a command in which the flag
// has another meaning without --http.
func (w *HTTPFlags) TakeTokenFile() (path string) {
	path, w.token.file = w.token.file, ""
	return path
}

// A ReliedOn is a file that decides who may call, so that no client may write it.
type ReliedOn struct{ What, Path string }

// ReliedOn returns the files that decide who may call.
func (w *HTTPFlags) ReliedOn() (all []ReliedOn) {
	for _, f := range []ReliedOn{{"the file of tokens", w.token.named},
		{"the file of the token", w.token.file}, {"the file of the state key", w.stateKeyFile},
		{"the certificate authorities of clients", w.tls.clientCA},
		{"the certificate", w.tls.certificate}, {"the key of the certificate", w.tls.key}} {
		if f.Path != "" {
			all = append(all, f)
		}
	}
	return all
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

// single returns the name of a given flag for the token without a name, or "".
func (b *bearerTokens) single() string {
	return command.FirstGiven("--token-env", b.env, target.TokenFileFlag, b.file)
}

// given returns the name of a given flag, or "".
func (b *bearerTokens) given() string {
	if single := b.single(); single != "" {
		return single
	}
	return command.FirstGiven(tokensFlag, b.named)
}

var errToken = errors.New("the bearer token is missing or wrong")

// open returns the verifiers of the given tokens, which the caller closes also if there is an
// error.
func (b *bearerTokens) open(log *slog.Logger) (all []*tokenfile.Verifier, err error) {
	add := func(flag string, source tokenfile.Source) error {
		v, err := source.Open()
		if err != nil {
			failure := command.Usagef("%s: %v", flag, err)
			if flag == tokensFlag && errors.Is(err, fs.ErrNotExist) {
				failure = failure.WithHint(
					"create it: stdwire auth token add NAME --file " + source.Path)
			}
			return failure
		}
		all = append(all, v)
		return nil
	}
	if b.named != "" {
		if err := add(tokensFlag, tokenfile.File(b.named, log)); err != nil {
			return all, err
		}
	}
	switch {
	case b.file != "":
		err = add(target.TokenFileFlag, tokenfile.Source{What: "the bearer token", Path: b.file,
			Read: target.ReadSecret, Log: log,
			Parse: func(text []byte) (tokenfile.Content, error) {
				token, err := target.ParseToken(b.file, text)
				return tokenfile.Content{Tokens: []tokenfile.Token{tokenfile.Unnamed(token)}}, err
			}})
	case b.env != "":
		all = append(all, tokenfile.Single(os.Getenv(b.env)))
	}
	return all, err
}

// randomToken returns the verifier of a random token, which it prints.
func randomToken(std *term.Streams) *tokenfile.Verifier {
	token := rand.Text()
	std.Err.Printf("stdwire: the bearer token is %s", token)
	return tokenfile.Single(token)
}

// bearerToken returns the bearer token of a request, or "".
func bearerToken(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
