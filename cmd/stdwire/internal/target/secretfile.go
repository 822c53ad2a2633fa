package target

import (
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/internal/userfile"
)

const (
	// MinToken is the minimum size of a bearer token in bytes: shorter tokens can be guessed.
	MinToken = 16
	// maxToken is the largest size of a file with a token in bytes.
	maxToken = 64 << 10
)

// ReadToken reads a bearer token from a file, which has to be protected from other users. White
// space around the token does not count.
func ReadToken(path string) (string, error) {
	content, err := ReadSecret(path)
	if err != nil {
		return "", err
	}
	return ParseToken(path, content)
}

// ReadSecret reads a file of at most 64 KiB, which has to be protected from other users.
func ReadSecret(path string) ([]byte, error) {
	return userfile.Text(userfile.ReadSecret(path, maxToken))
}

// ParseToken returns the token in the content of a file.
func ParseToken(path string, content []byte) (string, error) {
	token := strings.TrimSpace(string(content))
	switch {
	case len(token) < MinToken:
		return "", fmt.Errorf(
			"the token in %s has fewer than %d bytes and could be guessed; create one with: openssl rand -hex 16",
			path, MinToken)
	case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f }):
		return "", fmt.Errorf("%s does not contain exactly one token of printable ASCII", path)
	}
	return token, nil
}
