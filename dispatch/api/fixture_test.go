package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
	"github.com/stdwire/stdwire/dispatch/schema"
	"github.com/stdwire/stdwire/internal/lockedbuffer"
)

type noteQuery struct {
	dispatch.Instance
	ID string `json:"id" doc:"Which note."`
}

type note struct {
	Text string `json:"text"`
	On   string `json:"on,omitempty" doc:"The instance that has it."`
}

// A tree holds itself.
type tree struct {
	Name     string `json:"name"`
	Children []tree `json:"children,omitempty"`
}

type line struct {
	dispatch.Session
	Text string `json:"text,omitempty"`
}

// seen is what an operation gets to know of its call.
type seen struct {
	Principal string `json:"principal"`
	Request   string `json:"request"`
	Surface   string `json:"surface"`
}

func echo[T any](_ context.Context, in T) (T, error) { return in, nil }

// draft07 has all that draft-07 writes otherwise than 2020-12.
const draft07 = `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://example.test/seven","type":"object",
	"definitions":{"name":{"$id":"#name","type":"string","minLength":2},"pair":{"type":"array","items":[{"$ref":"#name"},{"type":"integer"}],"additionalItems":false}},
	"properties":{"who":{"$ref":"#/definitions/name","maxLength":1},"pairs":{"type":"array","items":{"$ref":"seven#/definitions/pair"}},"again":{"$ref":"#"},
		"first":{"$ref":"#/definitions/pair/items/0"}},
	"dependencies":{"pairs":["who"],"again":{"properties":{"who":{"const":"me"}}}},"required":["who"],"additionalProperties":false}`

// notes is a catalog with one of everything.
func notes(t testing.TB) *dispatch.Catalog {
	c := dispatch.NewCatalog(dispatch.GateWrite)
	assert.NilError(t,
		c.Declare(dispatch.CodeInfo{Code: "quota_exceeded", Recoverable: true, HTTPStatus: 429,
			ExitCode: 5, Summary: "Too many calls today."}))
	dispatch.Add(c, dispatch.Spec{
		Name: "note.get", Title: "Get", Summary: "Get a note.", Description: "Gets a note.",
		Type: dispatch.Read, Errors: []dispatch.Code{dispatch.NotFound, "quota_exceeded"},
		Examples: []dispatch.Example{
			{Summary: "The seventh", Input: json.RawMessage(`{"id":"7"}`)}},
	}, func(_ context.Context, q noteQuery) (note, error) {
		switch q.ID {
		case "7":
			return note{"Buy milk.", q.Instance.Instance}, nil
		case "429":
			return note{}, dispatch.Errorf("quota_exceeded",
				"no more").With(map[string]int{"limit": 1})
		}
		return note{}, dispatch.Errorf(dispatch.NotFound, "there is no note %q", q.ID)
	})
	dispatch.Add(c, dispatch.Spec{Name: "note.delete", Summary: "Delete all notes.",
		Type: dispatch.Destructive, Gate: dispatch.GateWrite},
		func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	dispatch.Add(c, dispatch.Spec{Name: "note.tree", Summary: "Echo a tree.", Type: dispatch.Read},
		echo[tree])
	dispatch.Add(c, dispatch.Spec{Name: "note.any", Summary: "Echo anything.", Type: dispatch.Read},
		echo[json.RawMessage])
	dispatch.Add(c, dispatch.Spec{Name: "old.seven", Summary: "Echo what fits draft-07.",
		Type: dispatch.Read, Input: json.RawMessage(draft07), Output: json.RawMessage(draft07)},
		echo[json.RawMessage])
	dispatch.Add(c, dispatch.Spec{Name: "old", Summary: "Has no dot.", Type: dispatch.Read},
		echo[struct{}])
	dispatch.Add(c, dispatch.Spec{Name: "shell.send", Summary: "Send a line.",
		Type: dispatch.Write}, echo[line])
	dispatch.Add(c, dispatch.Spec{Name: "manifest", Summary: "Who is calling?",
		Type: dispatch.Read}, func(ctx context.Context, _ struct{}) (seen, error) {
		call := dispatch.CallFrom(ctx)
		return seen{call.Principal, call.RequestID, call.Surface}, nil
	})
	return c
}

// A surface is a catalog with its handler, and what both log.
type surface struct {
	http.Handler
	catalog *dispatch.Catalog
	log     *lockedbuffer.Buffer
}

func newSurface(c *dispatch.Catalog, o api.Options) *surface {
	s := &surface{catalog: c, log: new(lockedbuffer.Buffer)}
	o.Logger = slog.New(slog.NewTextHandler(s.log, nil))
	s.Handler = o.New(dispatch.Options{Logger: o.Logger}.New(c))
	return s
}

// An answer is what came back.
type answer struct {
	*httptest.ResponseRecorder
	Success bool
	Data    json.RawMessage
	Error   *struct {
		Code, Message string
		Recoverable   bool
		Details       json.RawMessage
	}
	Meta struct {
		Session string `json:"session_id"`
	} `json:"_meta"`
}

// ask sends a request, with headers as "Name: value", and wants an envelope.
func (s *surface) ask(t testing.TB, method, path, body string, header ...string) *answer {
	t.Helper()
	return s.send(t, request(t, method, path, body, header...))
}

func request(t testing.TB, method, path, body string, header ...string) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return r
}

func (s *surface) send(t testing.TB, r *http.Request) *answer {
	t.Helper()
	a := &answer{ResponseRecorder: httptest.NewRecorder()}
	s.ServeHTTP(a, r)
	assert.NilError(t, json.Unmarshal(a.Body.Bytes(), a), "%s", a.Body)
	assert.Equal(t, a.Success, a.Code == 200)
	assert.Equal(t, a.Success, a.Error == nil)
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Content-Length": fmt.Sprint(a.Body.Len()),
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	} {
		assert.Equal(t, a.Header().Get(name), want, name)
	}
	assert.Assert(t, a.Header().Get("X-Request-Id") != "")
	return a
}

// call sends a call, and holds question and answer against the OpenAPI document.
func (s *surface) call(t testing.TB, service, body string, header ...string) *answer {
	t.Helper()
	a := s.ask(t, "POST", "/v1/"+service, body, header...)
	doc := s.openAPI(t)
	about := "/paths/~1v1~1" + service + "/post/"
	if a.Success {
		assert.NilError(t,
			doc.schema(t, about+
				"requestBody/content/application~1json/schema").Validate([]byte(body)), "%s", body)
	}
	assert.NilError(t,
		doc.schema(t, about+"responses/"+fmt.Sprint(a.Code)+
			"/content/application~1json/schema").Validate(a.Body.Bytes()), "%s", a.Body)
	return a
}

// A document is an OpenAPI document.
type document map[string]json.RawMessage

func (s *surface) openAPI(t testing.TB) document {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/v1/openapi.json", nil))
	assert.Equal(t, w.Code, 200)
	var d document
	assert.NilError(t, json.Unmarshal(w.Body.Bytes(), &d))
	return d
}

// schema compiles the schema at a JSON Pointer into the document.
func (d document) schema(t testing.TB, pointer string) *schema.Schema {
	t.Helper()
	root := map[string]json.RawMessage{
		"$ref":  json.RawMessage(`"#` + (&url.URL{Path: pointer}).EscapedPath() + `"`),
		"paths": d["paths"], "components": d["components"]}
	text, err := json.Marshal(root)
	assert.NilError(t, err)
	s, err := schema.Compile(text)
	assert.NilError(t, err)
	return s
}
