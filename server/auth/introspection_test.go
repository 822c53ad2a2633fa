package auth_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/server/auth"
)

// asking runs a test with a server that asks its issuer, which answers with answer.
func asking(t *testing.T, change func(*auth.IntrospectionOptions),
	answer func(*http.Request, url.Values) *response,
	test func(t *testing.T, w *fixture, i *issuer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		i.answer(askPath, func(r *http.Request) *response {
			assert.Check(t, r.Method == "POST" &&
				r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" &&
				r.URL.RawQuery == "")
			assert.Check(t, r.ParseForm() == nil)
			return answer(r, r.PostForm)
		})
		o := auth.IntrospectionOptions{Issuer: issuerURL, Audience: resource,
			ClientID: "mcp server", ClientSecret: "pass:word+%", Client: i.client()}
		if change != nil {
			change(&o)
		}
		verify, err := o.New()
		assert.NilError(t, err)
		w := newFixture(t, auth.Options{Verify: verify, DPoP: &auth.DPoPOptions{}})
		test(t, w, i)
		w.handler.Close()
	})
}

// active is an answer for a good token.
func active(more string) *response {
	return &response{200, nil,
		fmt.Sprintf(`{"active":true,"sub":"alice","aud":%q,"scope":"mcp","client_id":"app","exp":%d%s}`,
			resource, time.Now().Add(time.Hour).Unix(), more)}
}

func TestIntrospection(t *testing.T) {
	var seen url.Values
	asking(t, nil, func(r *http.Request, form url.Values) *response {
		seen = form
		id, secret, ok := r.BasicAuth()
		assert.Check(t, ok && id == "mcp+server" &&
			secret == "pass%3Aword%2B%25", "%s %s", id, secret)
		return active("")
	}, func(t *testing.T, w *fixture, i *issuer) {
		w.wants(w.call("read", bearer("opaque-token/+=")), 200, "")
		assert.DeepEqual(t, seen,
			url.Values{"token": {"opaque-token/+="}, "token_type_hint": {"access_token"}})
		assert.DeepEqual(t, w.called(), []string{"read " + issuerURL + "#alice app"})
		assert.Equal(t, i.count(metaPath), 1)
		// The answer is good for a while.
		for range 29 {
			time.Sleep(time.Second)
			w.wants(w.call("read", bearer("opaque-token/+=")), 200, "")
		}
		assert.Equal(t, i.count(askPath), 1)
		time.Sleep(time.Second)
		w.wants(w.call("read", bearer("opaque-token/+=")), 200, "")
		assert.Equal(t, i.count(askPath), 2)
		assert.Equal(t, i.count(metaPath), 1)
	})
}

func TestIntrospectionResponses(t *testing.T) {
	other := func(replace, with string) *response {
		a := active("")
		a.body = strings.Replace(a.body, replace, with, 1)
		return a
	}
	const plain = noProof
	bad := func(reason string) string {
		return strings.Replace(plain, `scope="mcp", DPoP`,
			`scope="mcp", error="invalid_token", error_description="`+reason+`", DPoP`, 1)
	}
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			answer *response
			status int
			reason string
		}{
			"good":          {active(""), 200, ""},
			"of the issuer": {active(`,"iss":"` + issuerURL + `"`), 200, ""},
			"not active": {&response{200, nil, `{"active":false}`}, 401,
				"the token is not active"},
			"not active, and more": {other("true", "false"), 401,
				"the token is not active"},
			"of another issuer": {active(`,"iss":"https://evil.example"`), 401,
				"the token is from another issuer"},
			"for another": {other(resource, "https://other.example"), 401,
				"the token is for another resource"},
			"for nobody": {other(`"aud"`, `"x"`), 401, "the token is for another resource"},
			"nobody":     {other(`"sub"`, `"x"`), 401, "the token has no subject"},
			"expired":    {other(`"exp":`, `"exp":1,"x":`), 401, "the token has expired"},
			"no exp":     {other(`"exp"`, `"x"`), 200, ""},
			"bound to a key": {active(`,"cnf":{"jkt":"AAAA"}`), 401,
				"the token is bound to a key, and was sent without a DPoP proof"},
			"active as text":    {other("true", `"true"`), 503, ""},
			"active twice":      {other(`"active":true`, `"active":false,"active":true`), 503, ""},
			"active is missing": {other(`"active"`, `"ACTIVE"`), 503, ""},
			"no JSON":           {&response{200, nil, "<html>"}, 503, ""},
			"oversized": {
				&response{200, nil, `{"active":true` + strings.Repeat(" ", 64<<10) + `}`}, 503, ""},
			"our own fault": {&response{401, nil, ""}, 503, ""},
			"broken":        {&response{500, nil, ""}, 503, ""},
			"redirect": {
				&response{307, http.Header{"Location": {"https://evil.example/"}}, ""}, 503, ""},
			"nobody there": {nil, 503, ""},
		} {
			i := newIssuer(t)
			i.answer(askPath, func(*http.Request) *response { return tc.answer })
			verify, err := auth.IntrospectionOptions{Issuer: issuerURL, Audience: resource,
				Endpoint: issuerURL + askPath, ClientID: "a", ClientSecret: "s3cret-of-ours",
				Client: i.client()}.New()
			assert.NilError(t, err)
			w := newFixture(t, auth.Options{Verify: verify, DPoP: &auth.DPoPOptions{}})
			t.Log(name)
			challenge := ""
			if tc.status == 401 {
				challenge = bad(tc.reason)
			}
			w.wants(w.call("read", bearer("opaque-token")), tc.status, challenge)
			w.wants(w.call("read", bearer("opaque-token")), tc.status, challenge)
			asked := 1 // that a token is no good is kept too
			if tc.status == 503 {
				asked = 2
			}
			assert.Equal(t, i.count(askPath), asked)
			assert.Assert(t, !strings.Contains(w.log.String(), "opaque-token") &&
				!strings.Contains(w.log.String(), "s3cret"))
			w.handler.Close()
		}
	})
}

// Who acts for himself has no subject at some authorization servers, but is not taken for one
// unless that was settled.
func TestClientIDAsSubject(t *testing.T) {
	for said, want := range map[string]struct {
		machines bool
		subject  string // "": the token is refused
	}{
		`"client_id":"m"`:             {true, "m"},
		`"client_id":"m" `:            {false, ""},
		`"client_id":"m","sub":"ada"`: {true, "ada"},
		`"client_id":7`:               {true, ""},
		`"client_id":""`:              {true, ""},
		`"azp":"m"`:                   {true, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(t)
			i.answer(askPath, func(*http.Request) *response {
				return &response{200, nil, `{"active":true,"aud":"` + resource +
					`","scope":"mcp",` + said + `}`}
			})
			verify, err := auth.IntrospectionOptions{
				Issuer: issuerURL, Audience: resource, Endpoint: issuerURL + askPath, ClientID: "a",
				ClientSecret: "s", ClientIDAsSubject: want.machines, Client: i.client(),
			}.New()
			assert.NilError(t, err)
			id, err := verify(t.Context(), "opaque-token")
			if want.subject == "" {
				_, bad := errors.AsType[*auth.TokenError](err)
				assert.Assert(t, bad, "%s: %v", said, err)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, id.Subject, want.subject)
		})
	}
}

func TestRevokedTokens(t *testing.T) {
	good := true
	answer := func(*http.Request, url.Values) *response {
		if good {
			return active("")
		}
		return &response{200, nil, `{"active":false}`}
	}
	asking(t, nil, answer, func(t *testing.T, w *fixture, _ *issuer) {
		assert.Equal(t, w.call("read", bearer("x")).Code, 200)
		good = false
		assert.Equal(t, w.call("read", bearer("x")).Code, 200)
		time.Sleep(30 * time.Second)
		assert.Equal(t, w.call("read", bearer("x")).Code, 401)
		good = true
	})
	asking(t, func(o *auth.IntrospectionOptions) { o.Cache = -1 }, answer,
		func(t *testing.T, w *fixture, _ *issuer) {
			assert.Equal(t, w.call("read", bearer("x")).Code, 200)
			good = false
			assert.Equal(t, w.call("read", bearer("x")).Code, 401)
		})
	// An answer is not good for longer than the token.
	good = true
	asking(t, func(o *auth.IntrospectionOptions) { o.Cache = 24 * time.Hour }, answer,
		func(t *testing.T, w *fixture, i *issuer) {
			assert.Equal(t, w.call("read", bearer("x")).Code, 200)
			time.Sleep(time.Hour + 30*time.Second)
			assert.Equal(t, w.call("read", bearer("x")).Code, 401)
			assert.Equal(t, i.count(askPath), 1)
		})
}

// A server that is slow to answer is not asked about any number of tokens.
func TestIntrospectionRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		i := newIssuer(t)
		i.answer(askPath, func(*http.Request) *response { <-release; return active("") })
		verify, err := auth.IntrospectionOptions{Issuer: issuerURL, Audience: resource,
			Endpoint: issuerURL + askPath, ClientID: "a", ClientSecret: "b",
			Client: i.client()}.New()
		assert.NilError(t, err)
		var all sync.WaitGroup
		for n := range 64 {
			all.Go(func() {
				_, err := verify(t.Context(), fmt.Sprint(n))
				assert.Check(t, err == nil)
			})
		}
		synctest.Wait()
		_, err = verify(t.Context(), "one more")
		assert.ErrorIs(t, err, auth.ErrUnavailable)
		close(release)
		all.Wait()
		_, err = verify(t.Context(), "one more")
		assert.NilError(t, err)
		assert.Equal(t, i.count(askPath), 65)
	})
}

// A metadata that cannot be had is not asked for with every token.
func TestEndpointDiscovery(t *testing.T) {
	asking(t, nil, func(*http.Request, url.Values) *response { return active("") },
		func(t *testing.T, w *fixture, i *issuer) {
			i.answer(metaPath, func(*http.Request) *response { return &response{500, nil, ""} })
			for range 5 {
				assert.Equal(t, w.call("read", bearer("x")).Code, 503)
			}
			assert.Equal(t, i.count(metaPath), 1)
			i.answer(metaPath, func(*http.Request) *response {
				return &response{200, nil, `{"issuer":"` + issuerURL +
					`","introspection_endpoint":"http://auth.example.com/introspect"}`}
			})
			time.Sleep(30 * time.Second)
			assert.Equal(t, w.call("read", bearer("x")).Code, 503, "without TLS")
			i.answer(metaPath, func(*http.Request) *response {
				return &response{200, nil, `{"issuer":"` + issuerURL +
					`","introspection_endpoint":"http://127.0.0.1/introspect"}`}
			})
			time.Sleep(30 * time.Second)
			assert.Equal(t, w.call("read", bearer("x")).Code, 503, "on this machine")
			i.answer(metaPath, nil)
			time.Sleep(30 * time.Second)
			assert.Equal(t, w.call("read", bearer("x")).Code, 200)
		})
}
