package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/internal/atomicfile"
)

var discard = slog.New(slog.DiscardHandler)

var secret = []byte(strings.Repeat("k", MinKey))

func credentials(token string) auth.Credentials {
	return auth.Credentials{Key: auth.Key{Endpoint: "https://s.example/mcp?key=hidden",
		Issuer: "https://as.example", Resource: "https://s.example/mcp",
		Grant: "authorization_code"}, Type: "Bearer", AccessToken: token,
		RefreshToken: "refresh-" + token, Saved: time.Now().UTC(), Granted: "a b"}
}

func has(t *testing.T, s *Store, k Key) bool {
	t.Helper()
	has, err := s.has(t.Context(), k)
	assert.NilError(t, err)
	return has
}

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, secret)
	assert.NilError(t, err)
	return s
}

// A file has no secrets, only its owner can read it, and with another key it is an error. Each
// login is opened only as that of its own user, client and server.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.json")
	s := open(t, path)
	ada, bob := Key{"ada", "app", "up"}, Key{"bob", "app", "up"}
	for _, k := range []Key{ada, bob} {
		assert.NilError(t, (&account{s: s, key: k, create: true}).Put(credentials("of-"+k.User)))
	}
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	for _, hidden := range []string{"of-ada", "refresh", "hidden", string(secret)} {
		assert.Check(t, !strings.Contains(string(text), hidden), "%s in %s", hidden, text)
	}
	again := open(t, path)
	for _, k := range []Key{ada, bob} {
		found, err := (&account{s: again, key: k}).Find("https://s.example/mcp?key=hidden")
		assert.NilError(t, err)
		assert.Equal(t, len(found), 1)
		assert.Equal(t, found[0].AccessToken, "of-"+k.User)
		found, err = (&account{s: again, key: k}).Find("https://other.example")
		assert.NilError(t, err)
		assert.Equal(t, len(found), 0)
	}
	if atomicfile.Permissions {
		info, err := os.Stat(path)
		assert.NilError(t, err)
		assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
	}

	_, err = Open(path, []byte(strings.Repeat("x", MinKey)))
	assert.ErrorIs(t, err, ErrKey)
	_, err = Open(path, []byte("short"))
	assert.ErrorContains(t, err, "fewer than 32 bytes")
	unsealed, err := Open(path, nil)
	assert.NilError(t, err)
	all, err := unsealed.All(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, len(all), 2)
	assert.Equal(t, all[0].URL, "https://s.example/mcp")
	assert.DeepEqual(t, all[0].Scopes, []string{"a", "b"})

	// each part that is clear belongs to what is sealed
	changes := []string{"swapped", "user", "client", "server", "url", "until", "issuer",
		"resource", "scopes", "renewable"}
	for _, change := range changes {
		var f map[string][]map[string]any
		assert.NilError(t, json.Unmarshal(text, &f))
		rows := f["logins"]
		k := ada
		switch change {
		case "swapped":
			rows[0]["sealed"], rows[1]["sealed"] = rows[1]["sealed"], rows[0]["sealed"]
		case "user":
			rows[0]["user"], k.User = "eve", "eve"
		case "client":
			rows[0]["client"], k.Client = "other", "other"
		case "server":
			rows[0]["server"], k.Server = "down", "down"
		case "until":
			rows[0]["until"] = "2999-01-01T00:00:00Z"
		case "scopes":
			rows[0]["scopes"] = []string{"admin"}
		case "renewable":
			rows[0]["renewable"] = false
		default:
			rows[0][change] = "https://evil.example"
		}
		changed, err := json.Marshal(f)
		assert.NilError(t, err)
		assert.NilError(t, os.WriteFile(path, changed, 0o600))
		found, err := (&account{s: open(t, path), key: k}).Find("https://s.example/mcp?key=hidden")
		assert.Check(t, errors.Is(err, ErrKey), "%s: %v", change, err)
		assert.Check(t, cmp.Len(found, 0))
	}
}

// A file that is not understood is an error, and not one without logins.
func TestInvalidFile(t *testing.T) {
	for text, want := range map[string]string{
		``: "not a file of logins", `[]`: "not a file of logins", `{"logins":[null]}`: "no user",
		`{"logins":[{"user":"a"}]}`:                                          "no server",
		`{"logins":[],"login":[]}`:                                           `unknown member "login"`,
		`{"logins":[{"user":"a","server":"s","expire":1}]}`:                  "expires",
		`{"logins":[{"user":"a","server":"s"},{"user":"a","server":"s"}]}`:   "two logins",
		`{"logins":[{"user":"a","server":"s","until":"tomorrow"}]}`:          "not a file of logins",
		`{"logins":[` + strings.Repeat(`{},`, maxRows) + `{}]}`:              "more than 10000",
		`{"logins":[{"user":"a","server":"s","sealed":"no base64 at all"}]}`: "not a file of logins",
	} {
		path := filepath.Join(t.TempDir(), "users.json")
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Open(path, secret)
		assert.Check(t, cmp.ErrorContains(err, want))
	}
}

// A store is bounded, also in the share of one user, and forgets what has ended.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewMemory()
		for i := range maxOfUser {
			k := Key{"ada", "", fmt.Sprint(i)}
			assert.NilError(t, (&account{s: s, key: k, create: true}).Put(credentials("t")))
		}
		time.Sleep(time.Second)
		renewed := &account{s: s, key: Key{"ada", "", "0"}}
		assert.NilError(t, renewed.Put(credentials("t")))
		more := &account{s: s, key: Key{"ada", "", "more"}, create: true}
		time.Sleep(time.Second)
		assert.NilError(t, more.Put(credentials("t")))
		assert.Check(t, has(t, s, more.key) && has(t, s, renewed.key), "the others make room")
		all, err := s.All(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, len(all), maxOfUser)
		evicted, err := s.follow(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, len(evicted), 1, "its connection ends")
		bob := &account{s: s, key: Key{"bob", "", "up"}, create: true}
		short := credentials("t")
		short.RefreshToken, short.Expires = "", time.Now().Add(time.Minute)
		assert.NilError(t, bob.Put(short))
		large := credentials(strings.Repeat("t", maxSealed))
		assert.ErrorContains(t, bob.Put(large), "over the limit")
		var gone []Key
		ctx, cancel := context.WithCancel(t.Context())
		followed := make(chan struct{})
		go func() {
			defer close(followed)
			s.Follow(ctx, func() bool { return true }, nil, func(k Key, revoked bool) {
				assert.Check(t, !revoked)
				gone = append(gone, k)
			}, func(err error) { t.Error(err) })
		}()
		assert.Check(t, has(t, s, bob.key))
		time.Sleep(time.Minute + time.Second)
		assert.Check(t, !has(t, s, bob.key))
		cancel()
		<-followed
		assert.DeepEqual(t, gone, []Key{bob.key})
		time.Sleep(keepFor)
		assert.NilError(t, more.Put(credentials("t")), "there is room again")
		ended, err := s.follow(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, len(ended), maxOfUser-1)
	})
}

// A login that another process replaces by a new one has ended, as has one that it deletes; one
// that it renews has not, nor one of this process.
func TestReplacedLogin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.json")
	here, there := open(t, path), open(t, path)
	k := Key{"ada", "", "up"}
	for _, test := range []struct {
		name string
		s    *Store
		do   func(*account) error
		gone map[Key]bool
	}{
		{"a login here", here, func(a *account) error {
			a.create = true
			return a.Put(credentials("one"))
		}, map[Key]bool{}},
		{"a renewal there", there, func(a *account) error {
			return a.Put(credentials("two"))
		}, map[Key]bool{}},
		{"a login there", there, func(a *account) error {
			return errors.Join(a.drop("two"), (&account{s: there, key: k, create: true}).Put(
				credentials("three")))
		}, map[Key]bool{k: true}},
		{"a step-up here", here, func(a *account) error {
			a.create = true
			return a.Put(credentials("four"))
		}, map[Key]bool{}},
		{"a renewal here", here, func(a *account) error {
			return a.Put(credentials("five"))
		}, map[Key]bool{}},
		{"a deletion here", here, func(a *account) error { return a.drop("five") }, map[Key]bool{}},
		{"a login there again", there, func(a *account) error {
			a.create = true
			return a.Put(credentials("six"))
		}, map[Key]bool{}},
		{"the end", there, func(a *account) error { return a.drop("six") }, map[Key]bool{k: true}},
	} {
		assert.NilError(t, test.do(&account{s: test.s, key: k}), test.name)
		gone, err := here.follow(t.Context())
		assert.NilError(t, err, test.name)
		assert.DeepEqual(t, gone, test.gone)
	}
}

// What cannot be stored is an error, also where there is a former login, and is all that the
// account then has: to be revoked.
func TestUnsaved(t *testing.T) {
	s := NewMemory()
	own := &account{s: s, key: Key{"ada", "", "up"}, create: true}
	one := credentials("one")
	assert.NilError(t, own.Put(one))
	assert.NilError(t, own.failure)
	large := credentials(strings.Repeat("t", maxSealed))
	assert.ErrorContains(t, own.Put(large), "over the limit")
	assert.ErrorContains(t, own.failure, "over the limit")
	found, err := own.Find(one.Endpoint)
	assert.NilError(t, err)
	assert.Equal(t, len(found), 1)
	assert.Equal(t, found[0].AccessToken, large.AccessToken)
	stored, err := s.find(t.Context(), own.key)
	assert.NilError(t, err)
	assert.Equal(t, stored.AccessToken, "one")
}

// A login that was revoked does not come back by a renewal that was in progress, and one whose
// renewal is refused is deleted.
func TestRenewalOfRevoked(t *testing.T) {
	s := NewMemory()
	k := Key{"ada", "", "up"}
	connection := &account{s: s, key: k}
	assert.ErrorContains(t, connection.Put(credentials("new")), "revoked")
	assert.NilError(t, (&account{s: s, key: k, create: true}).Put(credentials("one")))
	assert.NilError(t, connection.Put(credentials("two")))
	assert.NilError(t, connection.drop("one"))
	assert.Check(t, has(t, s, k), "it has been renewed")
	refused := credentials("two")
	refused.RefreshToken = ""
	assert.NilError(t, connection.Put(refused))
	assert.Check(t, !has(t, s, k))
}

// A login is deleted also if a process that uses it does not let go of it, which is said.
func TestRevokeInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, k := NewMemory(), Key{"ada", "", "up"}
		s.seal = nil // nothing is sent
		s.rows[k] = &row{Login: newLogin(k, new(credentials("t")))}
		_, err := s.lock(t.Context(), k)
		assert.NilError(t, err)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Revoke(ended, k, nil)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Check(t, has(t, s, k))
		unrevoked, err := s.Revoke(t.Context(), k, nil)
		assert.NilError(t, err)
		assert.ErrorIs(t, unrevoked, errBusy)
		assert.ErrorIs(t, unrevoked, ErrUnsealed)
		assert.Check(t, !has(t, s, k))
	})
}

// Only a URL that nobody can overhear is that of the gateway.
func TestCheckBase(t *testing.T) {
	for base, ok := range map[string]bool{"https://gw.example": true, "https://gw.example/a/": true,
		"http://127.0.0.1:8080": true, "http://localhost:1": true, "http://gw.example": false,
		"https://u:p@gw.example": false, "https://gw.example?a=b": false, "gw.example": false,
		"": false, "javascript:alert(1)": false, "http://unix:/run/x.sock:": false} {
		assert.Equal(t, CheckBase(base) == nil, ok, base)
	}
}
