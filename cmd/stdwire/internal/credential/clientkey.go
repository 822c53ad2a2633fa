package credential

import (
	"cmp"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/internal/jose"
	"github.com/stdwire/stdwire/internal/userfile"
)

const maxClientKey = 64 << 10 // bytes of a file with a private key

// setKey gives a client the private key of the file of c, which it authenticates with in place of a
// secret. The file is read whenever a user's connection is made, so that a key can be replaced.
func setKey(client *auth.Registration, c *config.Credentials) error {
	text, err := userfile.ReadSecret(c.ClientKey, maxClientKey)
	if err != nil {
		return err
	}
	key, err := parseKey(text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.ClientKey, err)
	}
	client.Key, client.KeyID = key, c.ClientKeyID
	if _, isRSA := key.(*rsa.PrivateKey); isRSA {
		client.Algorithm = string(jose.RS256) // the only one that all servers have
	}
	if _, err = jose.NewSigner(key, jose.Algorithm(client.Algorithm)); err != nil {
		return fmt.Errorf("%s: %w", c.ClientKey, err)
	}
	// to whom the assertions are addressed
	client.Issuer = cmp.Or(c.AssertionAudience, c.TokenEndpoint)
	return nil
}

// parseKey returns the first private key of a PEM file. Its errors quote nothing of it.
func parseKey(text []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		default: // parameters of a curve, for example
			continue
		}
		if signer, ok := key.(crypto.Signer); ok && err == nil {
			return signer, nil
		}
		return nil, errors.New("the private key is damaged, or of a kind that cannot sign")
	}
	return nil, errors.New("there is no private key in PEM in it; " +
		"create one with: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256")
}
