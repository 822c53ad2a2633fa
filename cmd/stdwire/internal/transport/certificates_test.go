package transport

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// An authority issues certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	a := &authority{t: t, key: key}
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(50, 0, 0), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.pem = a.sign(a.cert, &key.PublicKey)
	return a
}

func (a *authority) sign(c *x509.Certificate, public any) []byte {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, public, a.key)
	assert.NilError(a.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue returns a certificate for localhost and its key.
func (a *authority) issue(name string) (certificate, key []byte) {
	a.t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(a.t, err)
	der, err := x509.MarshalPKCS8PrivateKey(own)
	assert.NilError(a.t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(50, 0, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}}
	return a.sign(c, &own.PublicKey), pem.EncodeToMemory(
		&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// store writes files of these names in a directory, which only this user can read.
func store(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, content := range files {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
}
