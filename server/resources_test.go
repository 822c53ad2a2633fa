package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// text returns text contents of a resource.
func text(uri, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{
		Contents: []mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}}}
}

func readsText(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
	return text(uri, "of "+uri), nil
}

func resource(uri string) server.Resource {
	return server.Resource{Resource: mcp.Resource{URI: uri, Name: uri}, Read: readsText}
}

// echoes returns a template whose contents are the values of its variables.
func echoes(uriTemplate string) server.ResourceTemplate {
	return server.ResourceTemplate{
		ResourceTemplate: mcp.ResourceTemplate{URITemplate: uriTemplate, Name: "t"},
		Read: func(_ context.Context, uri string,
			values map[string]string) (*mcp.ReadResourceResult, error) {
			encoded, err := json.Marshal(values)
			return text(uri, uriTemplate+" "+string(encoded)), err
		},
	}
}

// cacheable returns the result with the cache hints that a client gets.
func cacheable(k *lineClient, result string) string {
	if k.modern() {
		return strings.TrimSuffix(result, "}") + `,"ttlMs":0,"cacheScope":"private"}`
	}
	return result
}

func TestResourcesAreListedAndRead(t *testing.T) {
	priority := 0.5
	library := func(s *server.Server) {
		err := errors.Join(
			s.AddResource(server.Resource{
				Resource: mcp.Resource{
					URI: "file:///a", Name: "a", Title: "A", Description: "The first.",
					MIMEType: "text/plain", Size: new(int64(3)),
					Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser},
						Priority: &priority, LastModified: "2026-01-01T00:00:00Z"},
					Icons: []mcp.Icon{{Src: "https://example.com/a.png", Sizes: []string{"any"}}},
					Meta:  mcp.Meta{"example.com/k": json.RawMessage(`[1]`)},
				},
				Read: func(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
					return &mcp.ReadResourceResult{
						Result: mcp.Result{
							Meta: mcp.Meta{"example.com/r": json.RawMessage(`true`)}},
						Contents: []mcp.ResourceContents{
							{URI: uri, MIMEType: "text/plain", Text: "abc",
								Meta: mcp.Meta{"example.com/c": json.RawMessage(`{}`)}},
							{URI: uri + "/b", Blob: []byte{0, 255}},
							{URI: uri + "/empty", Blob: []byte{}},
							{URI: uri + "/none"},
						},
					}, nil
				},
			}),
			s.AddResource(server.Resource{
				Resource: mcp.Resource{URI: "x:dir", Name: "dir"},
				Read: func(context.Context, string) (*mcp.ReadResourceResult,
					error) {
					return &mcp.ReadResourceResult{}, nil
				},
			}),
		)
		assert.NilError(t, err)
	}
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, made(quiet, library), revision, `{}`)
		k.want("resources/list", "", cacheable(k, `{"resources":[
			{"uri":"file:///a","name":"a","title":"A","description":"The first.","mimeType":"text/plain","size":3,
			 "annotations":{"audience":["user"],"priority":0.5,"lastModified":"2026-01-01T00:00:00Z"},
			 "icons":[{"src":"https://example.com/a.png","sizes":["any"]}],"_meta":{"example.com/k":[1]}},
			{"uri":"x:dir","name":"dir"}]}`))
		k.want("resources/templates/list", "", cacheable(k, `{"resourceTemplates":[]}`))
		k.want("resources/read", `{"uri":"file:///a"}`,
			cacheable(k, `{"_meta":{"example.com/r":true},"contents":[
			{"uri":"file:///a","mimeType":"text/plain","text":"abc","_meta":{"example.com/c":{}}},
			{"uri":"file:///a/b","blob":"AP8="},{"uri":"file:///a/empty","blob":""},{"uri":"file:///a/none","text":""}]}`))
		k.want("resources/read", `{"uri":"x:dir"}`, cacheable(k, `{"contents":[]}`))
	})
}

func TestResourceNotFound(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		must(t, s.AddResource(resource("x:1")))
		template := echoes("x:t/{id}")
		template.Read = func(_ context.Context, uri string,
			_ map[string]string) (*mcp.ReadResourceResult, error) {
			return nil, fmt.Errorf("wrapped: %w", server.ResourceNotFound(uri))
		}
		must(t, s.AddResourceTemplate(template))
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		code := -32002
		if k.modern() {
			code = -32602
		}
		for _, uri := range []string{"x:2", "x:t/7", "x:1/", "X:1"} {
			m := k.expectError("resources/read", fmt.Sprintf(`{"uri":%q}`, uri), code,
				"Resource not found: "+uri)
			assert.Equal(t, string(m.Error.Data), fmt.Sprintf(`{"uri":%q}`, uri))
		}
		for _, params := range []string{`{}`, `{"uri":""}`, `{"uri":7}`, `{"uri":null}`,
			`{"URI":"x:1"}`} {
			k.expectError("resources/read", params, -32602, "uri is required and must be a string")
		}
		k.expectError("resources/read", `{"uri":"x:1","uri":"x:2"}`, -32602, "twice")
	})
}

func TestTemplates(t *testing.T) {
	s := made(quiet, func(s *server.Server) {
		for _, template := range []string{"file:///{+path}", "file:///logs/{name}{?level}",
			"item:{id}"} {
			must(t, s.AddResourceTemplate(echoes(template)))
		}
		must(t, s.AddResource(resource("item:fixed")))
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		k.want("resources/templates/list", "", cacheable(k, `{"resourceTemplates":[
			{"uriTemplate":"file:///logs/{name}{?level}","name":"t"},{"uriTemplate":"file:///{+path}","name":"t"},{"uriTemplate":"item:{id}","name":"t"}]}`))
		for uri, want := range map[string]string{
			"file:///etc/a%20b":            `file:///{+path} {"path":"etc/a b"}`,
			"file:///logs/x?level=w%C3%A4": `file:///logs/{name}{?level} {"level":"wä","name":"x"}`,
			"file:///logs/x":               `file:///logs/{name}{?level} {"name":"x"}`,
			"file:///logs/a/b":             `file:///{+path} {"path":"logs/a/b"}`,
			"item:7":                       `item:{id} {"id":"7"}`,
			"item:a%2Fb":                   `item:{id} {"id":"a/b"}`,
			"item:fixed":                   `of item:fixed`,
		} {
			encoded, _ := json.Marshal(want)
			k.want("resources/read", fmt.Sprintf(`{"uri":%q}`, uri),
				cacheable(k, fmt.Sprintf(
					`{"contents":[{"uri":%q,"mimeType":"text/plain","text":%s}]}`, uri, encoded)))
		}
		missing := -32002
		if k.modern() {
			missing = -32602
		}
		for _, uri := range []string{"item:a/b", "item:%zz", "item:%ff", "other:1", "item:" +
			strings.Repeat("x", 1<<20)} {
			k.expectError("resources/read", fmt.Sprintf(`{"uri":%q}`, uri), missing,
				"Resource not found")
		}
	})
	assert.Equal(t, s.Remove(mcp.KindResourceTemplate, "item:{id}", "no:{such}"), 1)
	k := speak(t, s, newest, `{}`)
	k.expectError("resources/read", `{"uri":"item:7"}`, -32602, "not found")
	k.want("resources/read", `{"uri":"item:fixed"}`,
		cacheable(k, `{"contents":[{"uri":"item:fixed","mimeType":"text/plain","text":"of item:fixed"}]}`))
}

// The cache hints of a handler are not changed. A legacy client does not get them.
func TestCacheHintsAreTheHandlers(t *testing.T) {
	shared := text("x:shared", "s") // all requests share it, so it must not be modified
	shared.CacheHints = mcp.CacheHints{TTLMs: new(int64(60000)), CacheScope: mcp.CachePublic}
	shared.Meta = mcp.Meta{"example.com/k": json.RawMessage(`1`)}
	hinted := func(uri string, hints mcp.CacheHints) server.Resource {
		r := resource(uri)
		r.Read = func(context.Context, string) (*mcp.ReadResourceResult, error) {
			result := text(uri, "t")
			result.CacheHints = hints
			return result, nil
		}
		return r
	}
	s := made(quiet, func(s *server.Server) {
		r := resource("x:shared")
		r.Read = func(context.Context, string) (*mcp.ReadResourceResult, error) {
			return shared, nil
		}
		must(t, errors.Join(s.AddResource(r),
			s.AddResource(hinted("x:ttl", mcp.CacheHints{TTLMs: new(int64(5))})),
			s.AddResource(hinted("x:public", mcp.CacheHints{CacheScope: mcp.CachePublic})),
			s.AddResource(hinted("x:none", mcp.CacheHints{}))))
	})
	for i := range 4 {
		t.Run(fmt.Sprint("client ", i), func(t *testing.T) {
			t.Parallel()
			legacy, k := speak(t, s, "2025-11-25", `{}`), speak(t, s, newest, `{}`)
			for range 10 {
				legacy.want("resources/read", `{"uri":"x:shared"}`,
					`{"_meta":{"example.com/k":1},"contents":[{"uri":"x:shared","mimeType":"text/plain","text":"s"}]}`)
				k.want("resources/read", `{"uri":"x:shared"}`,
					`{"_meta":{"example.com/k":1},"contents":[{"uri":"x:shared","mimeType":"text/plain","text":"s"}],"ttlMs":60000,"cacheScope":"public"}`)
			}
		})
	}
	k := speak(t, s, newest, `{}`)
	for uri, hints := range map[string]string{
		"x:ttl": `"ttlMs":5,"cacheScope":"private"`, "x:public": `"ttlMs":0,"cacheScope":"public"`,
		"x:none": `"ttlMs":0,"cacheScope":"private"`,
	} {
		k.want("resources/read", fmt.Sprintf(`{"uri":%q}`, uri),
			fmt.Sprintf(`{"contents":[{"uri":%q,"mimeType":"text/plain","text":"t"}],%s}`, uri,
				hints))
	}
}

// failures are the possible failures of a handler, with the errors that the client gets.
var failures = map[string]struct {
	fail func() error
	code int
	text string
}{
	"plain":  {func() error { return errors.New("secret") }, -32603, "Internal error"},
	"chosen": {func() error { return rpc.Errorf(-31050, "told") }, -31050, "told"},
	"wrapped": {func() error { return fmt.Errorf("secret: %w", rpc.Errorf(-31050, "told")) },
		-31050, "told"},
	"panic":   {func() error { panic("secret") }, -32603, "Internal error"},
	"nothing": {func() error { return nil }, -32603, "Internal error"},
	"context": {func() error { return context.Canceled }, -32603, "Internal error"},
}

func TestResourceFailures(t *testing.T) {
	var hooked int
	o := quiet
	o.Hooks.Panic = func(string, any, []byte) { hooked++ }
	s := made(o, func(s *server.Server) {
		for name, f := range failures {
			r := resource("x:" + name)
			r.Read = func(context.Context, string) (*mcp.ReadResourceResult, error) {
				return nil, f.fail()
			}
			must(t, s.AddResource(r))
		}
		r := resource("x:broken")
		r.Read = func(context.Context, string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{
				Result: mcp.Result{Meta: mcp.Meta{"secret": json.RawMessage(`{`)}}}, nil
		}
		must(t, s.AddResource(r))
	})
	in(t, allRevisions, func(t *testing.T, revision string) {
		k := speak(t, s, revision, `{}`)
		for name, f := range failures {
			m := k.expectError("resources/read", fmt.Sprintf(`{"uri":"x:%s"}`, name), f.code, f.text)
			assert.Assert(t, !strings.Contains(m.raw, "secret"), m.raw)
		}
		m := k.expectError("resources/read", `{"uri":"x:broken"}`, -32603, "Internal error")
		assert.Assert(t, !strings.Contains(m.raw, "secret"), m.raw)
		k.expectNothing()
	})
	assert.Equal(t, hooked, len(allRevisions))
}

func TestInvalidResources(t *testing.T) {
	s := made(quiet)
	for name, r := range map[string]server.Resource{
		"without URI":  {Resource: mcp.Resource{Name: "n"}, Read: readsText},
		"not absolute": {Resource: mcp.Resource{URI: "a/b", Name: "n"}, Read: readsText},
		"no URI":       {Resource: mcp.Resource{URI: "x://h/%zz", Name: "n"}, Read: readsText},
		"without Name": {Resource: mcp.Resource{URI: "x:1"}, Read: readsText},
		"without Read": {Resource: mcp.Resource{URI: "x:1", Name: "n"}},
		"not JSON": {
			Resource: mcp.Resource{URI: "x:1", Name: "n",
				Meta: mcp.Meta{"k": json.RawMessage(`{`)}}, Read: readsText},
	} {
		assert.ErrorContains(t, s.AddResource(r), "server: resource", name)
	}
	for _, template := range []string{"x:{", "x:{}", "x:{a b}"} {
		assert.ErrorContains(t, s.AddResourceTemplate(echoes(template)),
			"server: resource template", template)
	}
	assert.ErrorContains(t,
		s.AddResourceTemplate(
			server.ResourceTemplate{
				ResourceTemplate: mcp.ResourceTemplate{URITemplate: "x:{a}", Name: "n"}}),
		"it needs Read")
	// None of these calls makes the server declare resources.
	in(t, []string{"2025-11-25", newest}, func(t *testing.T, revision string) {
		speak(t, s, revision, `{}`).expectError("resources/list", "", -32601, "resources/list")
	})
}

func TestResourceIsReplaced(t *testing.T) {
	s := made(quiet, func(s *server.Server) { must(t, s.AddResource(resource("x:1"))) })
	k := speak(t, s, newest, `{}`)
	k.want("resources/list", "", cacheable(k, `{"resources":[{"uri":"x:1","name":"x:1"}]}`))
	r := resource("x:1")
	r.Name = "other"
	must(t, s.AddResource(r))
	k.want("resources/list", "", cacheable(k, `{"resources":[{"uri":"x:1","name":"other"}]}`))
	assert.Equal(t, s.Remove(mcp.KindResource, "x:1", "x:1", "x:2"), 1)
	// a declared capability stays declared
	k.want("resources/list", "", cacheable(k, `{"resources":[]}`))
}
