package tokenfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/atomicfile"
)

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A file is closed: what it does not understand is an error, which names the token and no digest.
func TestParse(t *testing.T) {
	one, two := digestOf("one"), digestOf("two")
	long := strings.Repeat("x", 1025)
	for _, tt := range []struct{ content, want string }{
		{`{"tokens":[]}`, ""},
		{"\ufeff" + `{"tokens":[{"name":"a.b_c@d-1","sha256":"` + one + `"}]}`, ""},
		{`{"tokens":[{"name":"a","sha256":"` + strings.ToUpper(one) + `"}]}`, ""},
		{`{"tokens":[{"name":"a","sha256":"` + one + `","created":"2030-01-01T00:00:00Z",
			"expires":"2030-01-01T00:00:00Z","scopes":["x:y"],"groups":["a b"],
			"claims":{"n":1,"deep":{"x":[null]}}},{"name":"A","sha256":"` + two + `"}]}`, ""},
		{`{"tokens":[],"refused":[{"principal":"https://as.example#ada",` +
			`"until":"2030-01-01T00:00:00Z"},{"principal":"x509:CN=a#b#c",` +
			`"until":"2030-01-01T00:00:00Z"}]}`, ""},
		{`{"tokens":[],"refused":[{"principal":"ada","until":"2030-01-01T00:00:00Z"}]}`,
			`"ada" is no principal`},
		{`{"tokens":[],"refused":[{"principal":"#ada","until":"2030-01-01T00:00:00Z"}]}`,
			"is no principal"},
		{`{"tokens":[],"refused":[{"principal":"token#ada","until":"2030-01-01T00:00:00Z"}]}`,
			`revoke "ada"`},
		{`{"tokens":[],"refused":[{"principal":"as#` + long + long +
			`","until":"2030-01-01T00:00:00Z"}]}`, "at most 2048 bytes"},
		{`{"tokens":[],"refused":[{"principal":"as#ada"}]}`, "has no end"},
		{`{"tokens":[],"refused":[{"principal":"as#ada","until":"2030-01-01T00:00:00Z","for":1}]}`,
			`unknown member "for"`},
		{`{"refused":[]}`, `the member "tokens" is missing`},
		{``, "a value is missing"},
		{`[]`, "array"},
		{`{}`, `the member "tokens" is missing`},
		{`{"tokens":null}`, `the member "tokens" is missing`},
		{`{"tokens":[],"tokens":[]}`, "tokens"},
		{`{"tokens":[],"token":[]}`, `the file has the unknown member "token": did you mean tokens?`},
		{`{"tokens":[{"name":"a","sha256":"` + one + `","expire":"2030-01-01T00:00:00Z"}]}`,
			`the token "a" has the unknown member "expire": did you mean expires?`},
		{`{"tokens":[{"name":"a","sha256":"` + one + `","Scopes":[]}]}`,
			`the unknown member "Scopes"`},
		{`{"tokens":[{"sha256":"` + one + `"}]}`, `the name ""`},
		{`{"tokens":[{"name":"a#b","sha256":"` + one + `"}]}`, `the name "a#b"`},
		{`{"tokens":[{"name":"é","sha256":"` + one + `"}]}`, `the name "é"`},
		{`{"tokens":[{"name":"` + long + `","sha256":"` + one + `"}]}`, "1 to 64 letters"},
		{`{"tokens":[{"name":"a"}]}`, `sha256 of the token "a"`},
		{`{"tokens":[{"name":"a","sha256":"` + one[:62] + `"}]}`, `sha256 of the token "a"`},
		{`{"tokens":[{"name":"a","sha256":"` + one + `00"}]}`, `sha256 of the token "a"`},
		{`{"tokens":[{"name":"a","sha256":"` + one + `"},{"name":"a","sha256":"` + two + `"}]}`,
			`two tokens have the name "a"`},
		{`{"tokens":[{"name":"a","sha256":"` + one + `"},{"name":"b","sha256":"` + one + `"}]}`,
			`"a" and "b" are the same token`},
		{`{"tokens":[{"name":"a","sha256":"` + one + `","expires":"soon"}]}`, "soon"},
		{`{"tokens":[{"name":"a","sha256":"` + one + `","scopes":["a b"]}]}`, `the scope "a b"`},
		{`{"tokens":[{"name":"a","sha256":"` + one + `","scopes":"a"}]}`, "scopes"},
		{`{"tokens":[{"name":"a","sha256":"` + one + `","groups":[""]}]}`, `a group of "a"`},
		{`{"tokens":[{"name":"a","sha256":"` + one + `","groups":["` + long + `"]}]}`,
			`a group of "a"`},
		{`{"tokens":[{"name":"a","sha256":"` + one + `","claims":{"":1}}]}`, "the name of a claim"},
		{`{"tokens":[{"name":"a","sha256":"` + one + `","claims":{"x":"` +
			strings.Repeat("x", 64<<10) + `"}}]}`, "more than 64 KiB"},
		{`{"tokens":[{"name":"a","sha256":"` + one + `","scopes":[` +
			strings.TrimSuffix(strings.Repeat(`"a",`, 257), ",") + `]}]}`, "more than 256 scopes"},
	} {
		all, err := Parse([]byte(tt.content))
		if tt.want == "" {
			assert.NilError(t, err, tt.content)
			text, err := encode(all)
			assert.NilError(t, err)
			again, err := Parse(text)
			assert.NilError(t, err)
			same, err := encode(again)
			assert.NilError(t, err)
			assert.Equal(t, string(same), string(text))
			for i := range all.Tokens {
				assert.Assert(t, again.Tokens[i].equal(&all.Tokens[i]))
			}
			assert.DeepEqual(t, again.Refused, all.Refused)
			continue
		}
		assert.ErrorContains(t, err, tt.want, "%.200s", tt.content)
		assert.Assert(t, !strings.Contains(err.Error(), one), err.Error())
	}
	var many strings.Builder
	for i := range maxTokens + 1 {
		fmt.Fprintf(&many, `,{"name":"t%d","sha256":"%s"}`, i, digestOf(fmt.Sprint(i)))
	}
	_, err := Parse([]byte(`{"tokens":[` + many.String()[1:] + `]}`))
	assert.ErrorContains(t, err, "more than 10000 tokens")
	_, err = Parse([]byte(`{"tokens":[],"refused":[` + strings.Repeat(`{},`, maxRefused) + `{}]}`))
	assert.ErrorContains(t, err, "more than 10000 refused principals")
}

func TestNew(t *testing.T) {
	a, secret := New("a", time.Now())
	b, other := New("a", time.Now())
	assert.Assert(t, regexp.MustCompile(`^stdwire_[0-9a-f]{64}$`).MatchString(secret), secret)
	assert.Assert(t, secret != other && a.Digest != b.Digest)
	assert.Equal(t, a.Digest, sha256.Sum256([]byte(secret)))
}

// Concurrent changes are all kept, and the file is for its user only.
func TestChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	_, err := Read(path)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, Revoke(t.Context(), path, "x"), `no token "x"`)
	_, err = os.Stat(path)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			added, _ := New(fmt.Sprintf("t%d", i), time.Now())
			added.Claims = map[string]json.RawMessage{"n": json.RawMessage(fmt.Sprint(i))}
			if err := Add(t.Context(), path, added); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := Read(path)
	assert.NilError(t, err)
	assert.Equal(t, len(all.Tokens), 8)
	again, _ := New("t3", time.Now())
	assert.ErrorContains(t, Add(t.Context(), path, again), `has a token "t3" already`)
	wrong, _ := New("t 3", time.Now())
	assert.ErrorContains(t, Add(t.Context(), path, wrong), `the name "t 3"`)
	assert.ErrorContains(t, Revoke(t.Context(), path, "tt3"), "did you mean t3?")
	assert.NilError(t, Revoke(t.Context(), path, "t3"))
	assert.NilError(t, Add(t.Context(), path, again))
	info, err := os.Stat(path)
	assert.NilError(t, err)
	if atomicfile.Permissions {
		assert.Equal(t, info.Mode().Perm(), fs.FileMode(0o600))
		assert.NilError(t, os.Chmod(path, 0o644))
		_, err = Read(path)
		assert.ErrorContains(t, err, "chmod 600 "+path)
		assert.ErrorContains(t, Revoke(t.Context(), path, "t3"), "chmod 600 "+path)
	}
	// an invalid file is not replaced
	assert.NilError(t, os.WriteFile(path, []byte(`{"tokens":[],"x":1}`), 0o600))
	assert.NilError(t, os.Chmod(path, 0o600))
	assert.ErrorContains(t, Add(t.Context(), path, again), `unknown member "x"`)
	content, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.Equal(t, string(content), `{"tokens":[],"x":1}`)
}
