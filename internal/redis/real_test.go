package redis_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/redis/redistest"
)

func timeout(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// A server that is killed and comes back empty loses commands, but none runs twice, and no reply
// reaches another caller. Subscriptions come back.
func TestKilledServer(t *testing.T) {
	server := redistest.Start(t)
	c := server.Client()
	s, err := c.Subscribe(timeout(t), "ch")
	assert.NilError(t, err)
	var callers sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for i := range 16 {
		callers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				want := fmt.Sprint(i, " ", n)
				reply, err := c.Do(t.Context(), "ECHO", want)
				if err != nil {
					assert.Check(t, errors.Is(err, redis.ErrUnknown) ||
						errors.Is(err, redis.ErrUnavailable), err)
					continue
				}
				got, err := reply.Bytes()
				assert.Check(t, err)
				assert.Check(t, string(got) == want, "%s %s", got, want)
			}
		})
	}
	for range 2 {
		redistest.Available(t, c)
		server.Kill()
		server.Restart()
	}
	redistest.Available(t, c)
	cancel()
	callers.Wait()
	m, err := s.Next(timeout(t))
	assert.NilError(t, err)
	assert.Assert(t, m.Lost)
	for { // each of the two restarts may be reported
		_, err = c.Do(timeout(t), "PUBLISH", "ch", "again")
		assert.NilError(t, err)
		if m, err = s.Next(timeout(t)); err == nil && !m.Lost {
			break
		}
		assert.NilError(t, err)
	}
	assert.Equal(t, string(m.Payload), "again")
}

// Replies have the types that the protocol gives them.
func TestRealReplies(t *testing.T) {
	c := redistest.Start(t).Client()
	do := func(args ...string) redis.Reply {
		reply, err := c.Do(timeout(t), args...)
		assert.NilError(t, err)
		return reply
	}
	big := strings.Repeat("\r\n\x00", 1<<20)
	do("SET", "a", big)
	got, err := do("GET", "a").Bytes()
	assert.NilError(t, err)
	assert.Assert(t, string(got) == big)
	assert.Assert(t, do("GET", "none").IsNull())
	do("HSET", "h", "f", "v")
	items, err := do("HGETALL", "h").Items()
	assert.NilError(t, err)
	assert.Equal(t, len(items), 2)
	_, err = c.Do(timeout(t), "LPUSH", "a", "x")
	assert.Assert(t, redis.IsCode(err, "WRONGTYPE"), err)
	_, err = c.Do(timeout(t), "NONSENSE")
	assert.Assert(t, redis.IsCode(err, "ERR"), err)
	script := redis.NewScript("return redis.call('INCR', KEYS[1])")
	for want := range int64(3) {
		if want == 2 {
			do("SCRIPT", "FLUSH")
		}
		reply, err := c.Run(timeout(t), script, []string{"n"})
		assert.NilError(t, err)
		n, err := reply.Int()
		assert.NilError(t, err)
		assert.Equal(t, n, want+1)
	}
}

// Users of access control lists, passwords and databases, over TLS.
func TestUsersAndTLS(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	certificate, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
	}, &x509.Certificate{SerialNumber: big.NewInt(1)}, &key.PublicKey, key)
	assert.NilError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	assert.NilError(t, err)
	files := map[string]*pem.Block{"cert": {Type: "CERTIFICATE", Bytes: certificate},
		"key": {Type: "PRIVATE KEY", Bytes: private}}
	for name, block := range files {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	assert.NilError(t, l.Close())
	redistest.Start(t, "--user", "u", "on", ">secret", "~*", "&*", "+@all",
		"--user", "default", "off", "--tls-port",
		port, "--tls-cert-file", filepath.Join(dir, "cert"), "--tls-key-file",
		filepath.Join(dir, "key"), "--tls-auth-clients", "no", "--bind", "127.0.0.1")
	roots := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(certificate)
	assert.NilError(t, err)
	roots.AddCert(parsed)
	for _, tc := range []struct {
		url   string
		roots *x509.CertPool
		want  string
	}{
		{"rediss://u:secret@localhost:" + port + "/3", roots, ""},
		{"rediss://u:wrong@localhost:" + port, roots, "accepts no such user"},
		{"rediss://localhost:" + port, roots, "wants a password"},
		{"rediss://u:secret@localhost:" + port + "/99", roots, "DB index is out of range"},
		{"rediss://u:secret@localhost:" + port, nil, "certificate"},
	} {
		o, err := redis.ParseURL(tc.url)
		assert.NilError(t, err)
		if tc.roots != nil {
			o.TLS = &tls.Config{RootCAs: tc.roots}
		}
		c, err := redis.New(o)
		assert.NilError(t, err)
		_, err = c.Do(timeout(t), "SET", "a", "1")
		if tc.want == "" {
			assert.NilError(t, err)
		} else {
			assert.ErrorContains(t, err, tc.want)
			assert.Assert(t, !strings.Contains(err.Error(), "secret"), err)
		}
		c.Close()
	}
}
