package auth_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/auth"
)

// The groups of a caller, in each form in which issuers name them.
func TestGroups(t *testing.T) {
	in(t, auth.Options{}, func(t *testing.T, w *fixture) {
		for claim, want := range map[string][]string{
			`["a","b"]`: {"a", "b"},
			`"a"`:       {"a"},
			`[{"value":"a","display":"The A"},{"display":"no value"}]`: {"a"},
			`["a",7,null,"",["b"]]`: {"a"},
			`{}`:                    nil,
			`null`:                  nil,
		} {
			r := httptest.NewRequest("POST", "/", strings.NewReader(""))
			r.Header.Set("Authorization", "Bearer "+w.issuer.token(claims{"groups": raw(claim)}))
			caller, err := w.resource.Authorize(r)
			assert.NilError(t, err, claim)
			id := auth.IdentityFrom(caller.Context)
			assert.DeepEqual(t, id.Groups, want)
		}
		many := `[` + strings.Repeat(`"g",`, 1000) + `"g"]`
		rec := w.call("read", bearer(w.issuer.token(claims{"groups": raw(many)})))
		w.wants(rec, 401, refusal("the token has more than 1000 groups"))
	})
}
