package hook

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/filewatch"
	"github.com/stdwire/stdwire/internal/userfile"
)

// A secret says where the key is with which requests to HTTP hooks are signed.
type secret struct{ env, file string }

const (
	secretEnvFlag  = "--hook-secret-env"
	secretFileFlag = "--hook-secret-file"
	secretPrefix   = "whsec_"
	// The bounds of a key, in bytes (Standard Webhooks, "Signature scheme").
	minKey, maxKey = 24, 64
	maxSecretFile  = 4 << 10
	createSecret   = `create one with: echo "whsec_$(openssl rand -base64 32)"`
)

func (s *secret) flags() []command.Flag {
	return []command.Flag{
		{Name: secretEnvFlag, Value: "NAME",
			Help: "environment variable that holds the secret with which requests to URLs of --before and --after are signed: whsec_ and 24 to 64 bytes in base64",
			Set: func(value string) error {
				if s.env = value; value == "" {
					return errors.New("the name of a variable is missing")
				}
				return nil
			}},
		command.FileFlag(&s.file, secretFileFlag,
			"a file with this secret, which others cannot read; it is read again when it changes"),
	}
}

// given returns the name of a given flag, or "".
func (s *secret) given() string {
	return command.FirstGiven(secretEnvFlag, s.env, secretFileFlag, s.file)
}

// open returns the function that returns the current key.
func (s *secret) open(log *slog.Logger) (func() []byte, error) {
	switch {
	case s.file != "":
		file := &filewatch.Value[[]byte]{What: "the secret of hooks", Paths: []string{s.file},
			Read: func(path string) ([]byte, error) {
				return userfile.Text(userfile.ReadSecret(path, maxSecretFile))
			}, Log: log,
			Parse: func(contents [][]byte) ([]byte, error) {
				key, err := parseSecret(contents[0])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", s.file, err)
				}
				return key, nil
			}}
		if err := file.Load(); err != nil {
			return nil, command.Usagef("%s: %v", secretFileFlag, err)
		}
		return file.Get, nil
	case s.env != "":
		key, err := parseSecret([]byte(os.Getenv(s.env)))
		if err != nil {
			return nil, command.Usagef("%s: %.100s: %v", secretEnvFlag, s.env, err)
		}
		return func() []byte { return key }, nil
	}
	return nil, command.Usagef("a hook with a URL needs a secret, with which requests are signed").
		WithHint("add " + secretFileFlag + " FILE or " + secretEnvFlag + " NAME; " + createSecret)
}

// parseSecret returns the key of a secret.
func parseSecret(text []byte) ([]byte, error) {
	encoded, ok := bytes.CutPrefix(bytes.TrimSpace(text), []byte(secretPrefix))
	key, err := base64.StdEncoding.DecodeString(string(encoded))
	if !ok || err != nil || len(key) < minKey || len(key) > maxKey {
		return nil, fmt.Errorf("the secret is not %s and %d to %d bytes in base64; %s", secretPrefix,
			minKey, maxKey, createSecret)
	}
	return key, nil
}
