package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
)

func TestCalls(t *testing.T) {
	s := newSurface(notes(t), api.Options{})
	for _, test := range []struct {
		service, body string
		status        int
		want          string // data, or code and a part of the message
	}{
		{"note", `{"action":"get","params":{"id":"7"}}`, 200, `{"text":"Buy milk."}`},
		{"note", ` { "p\u0061rams" : {"id":"7"} , "action" : "g\u0065t" } `, 200,
			`{"text":"Buy milk."}`},
		{"note", `{"action":"get","params":{"id":"7"},"instance":"b"}`, 200,
			`{"text":"Buy milk.","on":"b"}`},
		{"note", `{"action":"get","params":{"id":"7","instance":"b"}}`, 200,
			`{"text":"Buy milk.","on":"b"}`},
		{"note", `{"action":"get","params":{"id":"7","instance":"b"},"instance":"c"}`, 400,
			"invalid_input: "},
		{"note", `{"action":"get","params":{"id":"8"}}`, 404, `not_found: there is no note "8"`},
		{"note", `{"action":"get","params":{"id":"429"}}`, 429, `quota_exceeded: no more`},
		{"note", `{"action":"get"}`, 400, "missing_param: "},
		{"note", `{"action":"get","params":{"id":7}}`, 400, "invalid_input: "},
		{"note", `{"action":"nope"}`, 404, "unknown_operation: "},
		{"note", `{}`, 404, "unknown_operation: "},
		{"note", `{"action":"delete"}`, 428, `confirmation_required: Delete all notes. This cannot be undone. ("confirm":true in the body`},
		{"note", `{"action":"delete","confirm":false}`, 428, "confirmation_required: "},
		{"note", `{"action":"delete","confirm":true}`, 200, `{}`},
		{"note", `{"action":"tree","params":{"name":"a","children":[{"name":"b"}]}}`, 200,
			`{"name":"a","children":[{"name":"b"}]}`},
		{"note", `{"action":"tree","params":{"name":"a","children":[{}]}}`, 400, "missing_param: "},
		{"note", `{"action":"any","params":{"x":[1,{"y":null}]}}`, 200, `{"x":[1,{"y":null}]}`},
		{"note", `{"action":"any","instance":"b"}`, 400,
			`invalid_input: the operation "note.any" takes no instance`},
		{"note", `{"action":"any","session":"b"}`, 400,
			`invalid_input: the operation "note.any" takes no session`},
		{"old", `{}`, 200, `{}`},
		{"old", `{"action":""}`, 200, `{}`},
		{"old", `{"action":"seven","params":{"who":"me","pairs":[["ab",1]],"again":{"who":"me"},"first":"ab"}}`,
			200, `{"who":"me","pairs":[["ab",1]],"again":{"who":"me"},"first":"ab"}`},
		{"old", `{"action":"seven","params":{"who":"you","pairs":[["ab","c"]]}}`, 400,
			"invalid_input: "},
		{"shell", `{"action":"send","params":{"text":"x"},"session":"s-1"}`, 200,
			`{"session":"s-1","text":"x"}`},
		{"shell", `{"action":"send","params":{"session":"s-1"}}`, 200, `{"session":"s-1"}`},
	} {
		a := s.call(t, test.service, test.body)
		assert.Equal(t, a.Code, test.status, "%s: %s", test.body, a.Body)
		if a.Success {
			assert.Equal(t, string(a.Data), test.want, test.body)
		} else {
			assert.Assert(t, strings.HasPrefix(a.Error.Code+": "+a.Error.Message, test.want),
				"%s: %s", test.body, a.Body)
		}
	}
	assert.Equal(t, s.call(t, "shell", `{"action":"send","session":"s-1"}`).Meta.Session, "s-1")
	// null is what the document does not have, but the handler does.
	assert.Equal(t, s.ask(t, "POST", "/v1/old", `{"params":null}`).Code, 200)
}

// A body may begin with a byte order mark.
func TestByteOrderMark(t *testing.T) {
	s := newSurface(notes(t), api.Options{})
	plain := s.call(t, "note", `{"action":"list"}`)
	marked := s.call(t, "note", "\uFEFF"+`{"action":"list"}`)
	assert.Equal(t, marked.Code, plain.Code)
	assert.Equal(t, marked.Body.String(), plain.Body.String())
}

func TestBodiesThatAreRefused(t *testing.T) {
	s := newSurface(notes(t), api.Options{})
	for body, want := range map[string]string{
		"":                                 "the body: invalid JSON at byte 0",
		"nope":                             "the body: invalid JSON at byte 0: expected null",
		`{"action":"get"`:                  "the body: invalid JSON at byte 15",
		`{} {}`:                            "the body: invalid JSON at byte 3",
		"{\"action\":\"\xff\"}":            "the body: invalid JSON",
		`{"action":"\ud800"}`:              "the body: invalid JSON",
		strings.Repeat("[", 2000):          "the body: invalid JSON",
		"\xef\xbb\xbf[]":                   "the body must be an object",
		"\xef\xbb\xbf\xef\xbb\xbf{}":       "the body: invalid JSON",
		`[]`:                               "the body must be an object",
		` null`:                            "the body must be an object",
		`{"action":"a","action":"a"}`:      `the body has the key "action" twice`,
		`{"params":{},"p\u0061rams":{}}`:   `the body has the key "params" twice`,
		`{"confirm":true,"confirm":false}`: `the body has the key "confirm" twice`,
		`{"Action":"get"}`:                 `the body has the unknown key "Action"; want action, params, instance, session and confirm`,
		`{"":1}`:                           `the body has the unknown key ""`,
		`{"action":null}`:                  `the body's "action" must be a string`,
		`{"action":["get"]}`:               `the body's "action" must be a string`,
		`{"params":[]}`:                    `the body's "params" must be an object`,
		`{"params":"{}"}`:                  `the body's "params" must be an object`,
		`{"params":true}`:                  `the body's "params" must be an object`,
		`{"instance":1}`:                   `the body's "instance" must be a string`,
		`{"session":{}}`:                   `the body's "session" must be a string`,
		`{"confirm":"true"}`:               `the body's "confirm" must be true or false`,
		`{"confirm":1}`:                    `the body's "confirm" must be true or false`,
		`{"confirm":null}`:                 `the body's "confirm" must be true or false`,
	} {
		a := s.call(t, "note", body)
		assert.Equal(t, a.Code, 400, body)
		assert.Equal(t, a.Error.Code, "invalid_input", body)
		assert.Assert(t, a.Error.Recoverable)
		assert.Assert(t, strings.HasPrefix(a.Error.Message, want), "%s: %s", body, a.Error.Message)
	}
	// Of a call that is none, no operation hears: an argument that occurs twice is the
	// operation's to refuse.
	assert.Equal(t, s.call(t, "note", `{"action":"get","params":{"id":"7","id":"8"}}`).Code, 400)
}

func TestRequestsThatAreRefused(t *testing.T) {
	s := newSurface(notes(t), api.Options{MaxBody: 100})
	large := `{"action":"any","params":{"x":"` + strings.Repeat("x", 100) + `"}}`
	for _, test := range []struct {
		method, path, body string
		header             []string
		status             int
		code, allow        string
	}{
		{"POST", "/", "{}", nil, 404, "unknown_operation", ""},
		{"POST", "/v1", "{}", nil, 404, "unknown_operation", ""},
		{"POST", "/v1/", "{}", nil, 404, "unknown_operation", ""},
		{"POST", "/v2/note", "{}", nil, 404, "unknown_operation", ""},
		{"POST", "/v1/note/", "{}", nil, 404, "unknown_operation", ""},
		{"POST", "/v1/note/get", "{}", nil, 404, "unknown_operation", ""},
		{"POST", "/v1/note%2fget", "{}", nil, 404, "unknown_operation", ""},
		{"POST", "/v1//note", "{}", nil, 404, "unknown_operation", ""},
		// the action is not to be smuggled into the path
		{"POST", "/v1/note.any", "{}", nil, 404, "unknown_operation", ""},
		{"POST", "/v1/nope", "{}", nil, 404, "unknown_operation", ""},
		{"GET", "/v1/note/get", "", nil, 404, "unknown_operation", ""},
		{"GET", "/v1/note", "", nil, 405, "invalid_input", "POST"},
		{"HEAD", "/v1/note", "", nil, 405, "invalid_input", "POST"},
		{"OPTIONS", "/v1/note", "", nil, 405, "invalid_input", "POST"},
		{"PUT", "/v1/note", "{}", nil, 405, "invalid_input", "POST"},
		{"DELETE", "/v1/manifest", "", nil, 405, "invalid_input", "GET, HEAD, POST"},
		{"POST", "/v1/openapi.json", "{}", nil, 405, "invalid_input", "GET, HEAD"},
		{"POST", "/v1/note", "{}", []string{"Content-Type: text/plain"}, 415, "invalid_input", ""},
		{"POST", "/v1/note", "{}", []string{"Content-Type: "}, 415, "invalid_input", ""},
		{"POST", "/v1/note", "{}", []string{"Content-Type: application/x-www-form-urlencoded"}, 415,
			"invalid_input", ""},
		{"POST", "/v1/note", "{}", []string{"Content-Encoding: gzip"}, 415, "invalid_input", ""},
		{"POST", "/v1/note", large, nil, 413, "invalid_input", ""},
	} {
		a := s.ask(t, test.method, test.path, test.body, test.header...)
		name := fmt.Sprint(test.method, " ", test.path, " ", test.header)
		assert.Equal(t, a.Code, test.status, name)
		assert.Equal(t, a.Error.Code, test.code, name)
		assert.Equal(t, a.Header().Get("Allow"), test.allow, name)
	}
	for _, fine := range []string{"Content-Type: application/json; charset=utf-8",
		"Content-Type: Application/JSON", "Content-Encoding: identity",
		"Content-Encoding: Identity"} {
		assert.Equal(t, s.ask(t, "POST", "/v1/old", "{}", fine).Code, 200, fine)
	}
	fits := `{"action":"any","params":{"x":"` +
		strings.Repeat("x", 100-len(`{"action":"any","params":{"x":""}}`)) + `"}}`
	assert.Equal(t, s.ask(t, "POST", "/v1/note", fits).Code, 200)
	assert.Equal(t, s.ask(t, "POST", "/v1/note", fits+" ").Code, 413)
}

// Neither what the header claims nor that it claims nothing gets more than the limit into memory.
func TestBodyLimitOverTheWire(t *testing.T) {
	s := newSurface(notes(t), api.Options{MaxBody: 1000})
	server := httptest.NewServer(s)
	defer server.Close()
	for _, chunked := range []bool{false, true} {
		for _, size := range []int{1000, 1001, 1_000_000} {
			r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/v1/old",
				strings.NewReader("{}"+strings.Repeat(" ", size-2)))
			assert.NilError(t, err)
			r.Header.Set("Content-Type", "application/json")
			if chunked {
				r.ContentLength = -1
			}
			answer, err := server.Client().Do(r)
			assert.NilError(t, err)
			answer.Body.Close()
			want := 200
			if size > 1000 {
				want = 413
			}
			assert.Equal(t, answer.StatusCode, want, "%d chunked=%t", size, chunked)
		}
	}
	r := request(t, "POST", "/v1/old", "{}")
	r.ContentLength = 1 << 50
	assert.Equal(t, s.send(t, r).Code, 413)
	// Little that is said to be much, within the limit, is little.
	huge := newSurface(notes(t), api.Options{MaxBody: 1 << 40})
	r = request(t, "POST", "/v1/old", "{}")
	r.ContentLength = 1 << 39
	assert.Equal(t, huge.send(t, r).Code, 200)
}

func TestEveryCodeHasItsStatus(t *testing.T) {
	c := dispatch.NewCatalog()
	assert.NilError(t, c.Declare(
		dispatch.CodeInfo{Code: "quota_exceeded", Recoverable: true, HTTPStatus: 429, ExitCode: 5,
			Summary: "Too much."},
		dispatch.CodeInfo{Code: "teapot", HTTPStatus: 418, ExitCode: 5,
			Summary: "Short and stout."},
		dispatch.CodeInfo{Code: "full", HTTPStatus: 507, ExitCode: 5, Summary: "No space."},
		dispatch.CodeInfo{Code: "also_large", HTTPStatus: 413, ExitCode: 5,
			Summary: "Too large as well."}))
	statuses := map[int]bool{}
	for _, info := range c.Codes() {
		dispatch.Add(c, dispatch.Spec{Name: "fail." + string(info.Code), Summary: "Fails.",
			Type: dispatch.Read, Errors: []dispatch.Code{info.Code}},
			func(context.Context, struct{}) (struct{}, error) { return struct{}{}, info.Code })
		// An operation that does not declare its code: it is one that any may return, or becomes
		// internal_error.
		dispatch.Add(c, dispatch.Spec{Name: "alone-" +
			strings.ReplaceAll(string(info.Code), "_", "-") + ".fail", Summary: "Fails.",
			Type: dispatch.Read},
			func(context.Context, struct{}) (struct{}, error) { return struct{}{}, info.Code })
	}
	s := newSurface(c, api.Options{})
	for _, info := range c.Codes() {
		a := s.call(t, "fail", fmt.Sprintf(`{"action":%q}`, info.Code))
		assert.Equal(t, a.Code, info.HTTPStatus)
		assert.Equal(t, a.Error.Code, string(info.Code))
		want := info.Summary
		if info.Code == dispatch.ConfirmationRequired {
			want += ` ("confirm":true in the body confirms the call)`
		}
		assert.Equal(t, a.Error.Message, want)
		assert.Equal(t, a.Error.Recoverable, info.Recoverable)
		statuses[a.Code] = true

		// the document has to allow it
		a = s.call(t, "alone-"+strings.ReplaceAll(string(info.Code), "_", "-"), `{"action":"fail"}`)
		assert.Assert(t, a.Error.Code == string(info.Code) ||
			a.Error.Code == "internal_error", "%s", a.Body)
	}
	assert.Equal(t, len(statuses), 14, "%v", statuses)
}

// An error that says when to try again says so in a header, in whole seconds.
func TestRetryAfter(t *testing.T) {
	for details, want := range map[string]string{`{"retryAfterMs":1}`: "1",
		`{"retryAfterMs":2000}`: "2", `{"retryAfterMs":2001,"x":1}`: "3", `{"retryAfterMs":0}`: "",
		`{"retryAfterMs":-5}`: "", `{"retryAfterMs":"5"}`: "", `{"retryAfterMs":1e3}`: "", `{}`: "",
		`[1]`: "", `null`: ""} {
		c := dispatch.NewCatalog()
		dispatch.Add(c, dispatch.Spec{Name: "a.b", Summary: "Fails.", Type: dispatch.Read},
			func(context.Context, struct{}) (struct{}, error) {
				return struct{}{}, dispatch.Errorf(dispatch.TooManyRequests, "later").
					With(json.RawMessage(details))
			})
		a := newSurface(c, api.Options{}).call(t, "a", `{"action":"b"}`)
		assert.Equal(t, a.Code, 429)
		assert.Equal(t, a.Header().Get("Retry-After"), want, details)
	}
}

func TestRequestID(t *testing.T) {
	s := newSurface(notes(t), api.Options{Principal: func(r *http.Request) (string, error) {
		return r.Header.Get("Authorization"), nil
	}})
	for id, kept := range map[string]bool{
		"7f3a-b/c:1~!": true, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false,
		"": false, "a b": false, "a\x01": false, "ü": false, "\x7f": false,
	} {
		a := s.call(t, "manifest", `{}`, "X-Request-Id: "+id, "Authorization: ann")
		var got seen
		assert.NilError(t, json.Unmarshal(a.Data, &got))
		assert.Equal(t, got, seen{"ann", a.Header().Get("X-Request-Id"), "http"})
		assert.Equal(t, got.Request == id, kept, id)
		assert.Assert(t, got.Request != "")
	}
	assert.Assert(t,
		s.ask(t, "POST", "/v1/old", `{}`).Header().Get("X-Request-Id") != s.ask(t, "POST",
			"/v1/old", `{}`).Header().Get("X-Request-Id"))
}

func TestDisconnectCancelsTheCall(t *testing.T) {
	running, ended := make(chan struct{}), make(chan error, 1)
	c := dispatch.NewCatalog()
	dispatch.Add(c, dispatch.Spec{Name: "wait", Summary: "Waits.", Type: dispatch.Wait},
		func(ctx context.Context, _ struct{}) (struct{}, error) {
			close(running)
			<-ctx.Done()
			ended <- ctx.Err()
			return struct{}{}, ctx.Err()
		})
	server := httptest.NewServer(newSurface(c, api.Options{}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/v1/wait",
		strings.NewReader("{}"))
	assert.NilError(t, err)
	r.Header.Set("Content-Type", "application/json")
	go func() {
		<-running
		cancel()
	}()
	_, err = server.Client().Do(r)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, <-ended, context.Canceled)

	// And whoever still listens, a middleware say, is told.
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	a := newSurface(c, api.Options{}).send(t,
		request(t, "POST", "/v1/wait", "{}").WithContext(cancelled))
	assert.Equal(t, a.Code, 499)
	assert.Equal(t, a.Error.Code, "cancelled")
}

func TestTooManyAtOnce(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	c := notes(t)
	dispatch.Add(c, dispatch.Spec{Name: "wait", Summary: "Waits.", Type: dispatch.Wait},
		func(context.Context, struct{}) (struct{}, error) {
			running <- struct{}{}
			<-release
			return struct{}{}, nil
		})
	s := newSurface(c, api.Options{MaxCalls: 3})
	var waiting sync.WaitGroup
	for range 3 {
		waiting.Go(func() { assert.Check(t, s.ask(t, "POST", "/v1/wait", `{}`).Code == 200) })
		<-running
	}
	for _, path := range []string{"POST /v1/old", "GET /v1/manifest"} {
		method, path, _ := strings.Cut(path, " ")
		a := s.ask(t, method, path, "{}")
		assert.Equal(t, a.Code, 503)
		assert.Equal(t, a.Error.Code, "state_error")
		assert.Assert(t, a.Error.Recoverable)
		assert.Equal(t, a.Header().Get("Retry-After"), "1")
	}
	close(release)
	waiting.Wait()
	assert.Equal(t, s.call(t, "old", "{}").Code, 200)
}

func TestConcurrentCallsAndChanges(t *testing.T) {
	c := notes(t)
	server := httptest.NewServer(newSurface(c, api.Options{}))
	defer server.Close()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 20 {
				body := fmt.Sprintf(`{"action":"any","params":{"i":%d,"n":%d}}`, i, n)
				answer, err := server.Client().Post(server.URL+"/v1/note", "application/json",
					strings.NewReader(body))
				if !assert.Check(t, err) {
					return
				}
				text, err := io.ReadAll(answer.Body)
				assert.Check(t, err)
				assert.Check(t, answer.Body.Close())
				assert.Check(t, string(text) == fmt.Sprintf(
					`{"success":true,"data":{"i":%d,"n":%d},"error":null}`, i, n), "%s", text)
			}
		})
	}
	all.Go(func() { // the documents are made while others look at them
		for n := range 20 {
			dispatch.Add(c, dispatch.Spec{Name: fmt.Sprint("new.op", n), Summary: "New.",
				Type: dispatch.Read}, echo[tree])
			answer, err := server.Client().Get(server.URL + "/v1/openapi.json")
			if !assert.Check(t, err) {
				return
			}
			text, err := io.ReadAll(answer.Body)
			assert.Check(t, err)
			assert.Check(t, answer.Body.Close())
			assert.Check(t, strings.Contains(string(text), fmt.Sprintf(`"new.op%d.call"`, n)))
		}
	})
	all.Wait()
}
