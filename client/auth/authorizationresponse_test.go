package auth_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

// An authorization response is accepted only if it belongs to the request and comes from its
// authorization server. Otherwise no code is sent anywhere, and no error is displayed.
func TestAuthorizationResponsesMustBeValidated(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(v url.Values)
		says   bool // the metadata declares iss
		want   string
	}{
		"as it should be":      {func(url.Values) {}, true, ""},
		"iss not advertised":   {func(url.Values) {}, false, ""},
		"none, not advertised": {func(v url.Values) { v.Del("iss") }, false, ""},
		"none, but advertised": {func(v url.Values) { v.Del("iss") }, true,
			"the authorization response has no iss"},
		"empty, not advertised": {func(v url.Values) { v.Set("iss", "") }, false,
			"another authorization server (iss)"},
		"mixed up": {func(v url.Values) { v.Set("iss", "https://evil.example") }, true,
			"another authorization server (iss)"},
		"unexpected": {func(v url.Values) { v.Set("iss", "https://evil.example") }, false,
			"another authorization server (iss)"},
		"a slash": {func(v url.Values) { v.Set("iss", issuer+"/") }, true,
			"another authorization server (iss)"},
		"the case of the host": {func(v url.Values) { v.Set("iss", "https://AS.example/t") }, true,
			"another authorization server (iss)"},
		"the port": {func(v url.Values) { v.Set("iss", "https://as.example:443/t") }, true,
			"another authorization server (iss)"},
		"percent": {func(v url.Values) { v.Set("iss", "https://as.example/%74") }, true,
			"another authorization server (iss)"},
		"two of them": {func(v url.Values) { v.Add("iss", "https://evil.example") }, true,
			"repeats the parameter iss"},
		"no state": {func(v url.Values) { v.Del("state") }, true,
			"has another state than the request"},
		"another state": {func(v url.Values) { v.Set("state", "x") }, true,
			"has another state than the request"},
		"two states": {func(v url.Values) { v.Add("state", "x") }, true,
			"repeats the parameter state"},
		"no code": {func(v url.Values) { v.Del("code") }, true,
			"the authorization response has no code"},
		"two codes": {func(v url.Values) { v.Add("code", "s3cret") }, true,
			"repeats the parameter code"},
		"a line break": {func(v url.Values) { v.Set("code", "s3cret\n") }, true,
			"the authorization response has no code"},
		"an error": {func(v url.Values) {
			v.Del("code")
			v.Set("error", "access_denied")
			v.Set("error_description", "The user\x1b[2J said \u202eno")
		}, true, `authorization: https://as.example/authorize: access_denied: "The user said \\u202eno"`},
		"an error of another": {func(v url.Values) {
			v.Set("error", "EVIL")
			v.Set("error_description", "EVIL")
			v.Set("iss", "https://evil.example")
		}, true, "another authorization server (iss)"},
		"an error without iss": {func(v url.Values) { v.Set("error", "EVIL"); v.Del("iss") },
			true, "the authorization response has no iss"},
		"an error to nothing": {func(v url.Values) {
			v.Set("error", "EVIL")
			v.Del("state")
		}, true, "another state"},
		"an error and a code as well": {func(v url.Values) { v.Set("error", "server_error") }, true,
			"server_error"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.asm["authorization_response_iss_parameter_supported"] = tc.says
			w.authorize = func(v url.Values) url.Values { tc.change(v); return v }
			c := w.client(w.options())
			if tc.want == "" {
				c.ok()
				return
			}
			e := c.fails(auth.StepAuthorize, tc.want)
			assert.Equal(t, w.count("/token"), 0, "the code is shown to nobody")
			assert.Assert(t, !strings.Contains(e.Error(), "EVIL"))
		})
	}
}

// A redirect to any other URL than the redirect URI is an error.
func TestRedirectToAnotherURL(t *testing.T) {
	for _, elsewhere := range []string{"http://127.0.0.1:9/other", "http://127.0.0.1:10/callback",
		"https://127.0.0.1:9/callback", "http://evil.example/callback", "/callback", "%", ""} {
		w := newWorld(t)
		o := w.options()
		o.Grant = auth.AuthorizationCode{RedirectURL: redirect,
			FetchRedirect: func(ctx context.Context, page string) (string, error) {
				text, err := w.follow(ctx, page)
				_, query, _ := strings.Cut(text, "?")
				return elsewhere + "?" + query, err
			}}
		w.client(o).fails(auth.StepAuthorize, "redirected to a URL other than RedirectURL")
		assert.Equal(t, w.count("/token"), 0)
	}
}

// After a user has declined, the next request does not ask again until some time has passed.
func TestUserDenies(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		no := errors.New("not today")
		asked := 0
		o := w.options()
		o.Grant = auth.AuthorizationCode{RedirectURL: redirect,
			FetchRedirect: func(context.Context, string) (string, error) {
				asked++
				return "", no
			}}
		c := w.client(o)
		for range 5 {
			e := c.fails(auth.StepAuthorize, "not today")
			assert.ErrorIs(t, e, no)
		}
		assert.Equal(t, asked, 1)
		sleep(31)
		c.fails(auth.StepAuthorize, "not today")
		assert.Equal(t, asked, 2)
		assert.ErrorIs(t, c.Login(context.Background()), no)
		assert.Equal(t, asked, 3, "who logs in is asked")
	})
}

// A user who does not respond is waited for up to the timeout.
func TestUserTimeout(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		o := w.options()
		o.Grant = auth.AuthorizationCode{RedirectURL: redirect,
			FetchRedirect: func(ctx context.Context, _ string) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}}
		w.client(o).fails(auth.StepAuthorize, "the user did not respond within 5m0s")
	})
}

// The authorization ends when the last request that waits for it is cancelled.
func TestAuthorizationEndsWithTheRequest(t *testing.T) {
	runSynctest(t, func(t *testing.T, w *testServers) {
		ended := make(chan error, 1)
		o := w.options()
		o.Grant = auth.AuthorizationCode{RedirectURL: redirect,
			FetchRedirect: func(ctx context.Context, _ string) (string, error) {
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return "", ctx.Err()
			}}
		ctx, cancel := context.WithTimeout(context.Background(), 10e9)
		defer cancel()
		c := w.client(o)
		_, err := c.callWith(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Error(t, <-ended, "all requests that needed the token were canceled")

		// The next request asks the user again.
		synctest.Wait()
		ctx, cancel = context.WithTimeout(context.Background(), 10e9)
		defer cancel()
		_, err = c.callWith(ctx)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Error(t, <-ended, "all requests that needed the token were canceled")
	})
}
