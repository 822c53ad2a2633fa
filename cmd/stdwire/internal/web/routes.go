package web

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/doctor"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/savedcall"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/snippet"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/traffic"
	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/internal/uritemplate"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A site is the state that the page shows and changes.
type site struct {
	title     string
	recording bool // the page shows a recording, and has no servers
	changes   *changes.Changes
	traffic   *traffic.Traffic
	servers   *servers
	questions *questions
	calls     *calls
	saved     *savedCalls
	frames    *frames
	logins    *logins
	// configuration is the files that the page can change; nil if the page was opened without
	// files.
	configuration *configuration
	gateway       *watchedGateway // in place of servers; nil if none is watched
	pages         *pages          // what else the user may look at; nil: nothing
	// doctor checks a server as stdwire doctor does.
	doctor func(ctx context.Context, id string) (*doctor.Report, error)
	std    *term.Streams
}

// maxTrafficPage is the greatest number of messages in one answer.
const maxTrafficPage = 10_000

// routes returns the API of the page.
func (s *site) routes() http.Handler {
	mux := http.NewServeMux()
	get := func(path string, f func(*http.Request) (any, error)) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if value, err := f(r); err != nil {
				reply.Fail(w, err)
			} else {
				reply.JSON(w, value)
			}
		})
	}
	mux.HandleFunc("GET /api/changes", s.changes.Serve)
	get("/api/about", func(*http.Request) (any, error) {
		return map[string]any{"title": s.title, "version": command.Version(),
			"recording": s.recording, "gateway": s.gateway != nil}, nil
	})
	get("/api/servers", func(*http.Request) (any, error) {
		if s.gateway != nil {
			return append(s.servers.statuses(), s.gateway.list()...), nil
		}
		return s.servers.statuses(), nil
	})
	get("/api/gateway", func(*http.Request) (any, error) {
		if s.gateway == nil {
			return nil, reply.NotFound("watched", "gateway")
		}
		return s.gateway.described(), nil
	})
	get("/api/servers/{id}/definitions", func(r *http.Request) (any, error) {
		return s.servers.definitions(r.Context(), r.PathValue("id"))
	})
	get("/api/servers/{id}/log", s.log)
	get("/api/updates", func(*http.Request) (any, error) { return s.servers.latest(), nil })
	get("/api/calls", func(*http.Request) (any, error) { return s.calls.list(), nil })
	get("/api/calls/{n}", func(r *http.Request) (any, error) {
		n, err := reply.PathNumber(r)
		if err != nil {
			return nil, err
		}
		return s.calls.get(n)
	})
	get("/api/questions", func(*http.Request) (any, error) { return s.questions.list(), nil })
	get("/api/traffic", func(r *http.Request) (any, error) {
		n, err := reply.Number(r, "after", 0)
		if err != nil {
			return nil, err
		}
		return s.traffic.After(n, maxTrafficPage), nil
	})
	get("/api/traffic/{n}", s.message)
	get("/api/logs", func(r *http.Request) (any, error) {
		f, err := traffic.NewLogFilter(r)
		return s.traffic.Logs(f), err
	})
	get("/api/search", func(r *http.Request) (any, error) {
		return s.traffic.Search(r.URL.Query().Get("text")), nil
	})
	mux.HandleFunc("GET /api/export", s.export)

	post(mux, "/api/servers/{id}/do/{action}", func(r *http.Request, _ struct{}) (any, error) {
		if _, err := s.servers.find(r.PathValue("id")); s.gateway != nil && err != nil {
			return nil, s.gateway.do(r.Context(), r.PathValue("action"), r.PathValue("id"))
		}
		action := serverActions[r.PathValue("action")]
		if action == nil {
			return nil, reply.NotFound("action", r.PathValue("action"))
		}
		return nil, action(s.servers, r.Context(), r.PathValue("id"))
	})
	post(mux, "/api/servers/{id}/doctor", func(r *http.Request, _ struct{}) (any, error) {
		if srv, err := s.servers.find(r.PathValue("id")); err != nil || s.gateway != nil {
			return nil, cmp.Or(err, reply.NotFound("check of", r.PathValue("id")))
		} else if srv.added {
			return nil, command.Usagef("the doctor cannot check servers that the page has added").WithHint(
				strings.TrimSpace("at the terminal: stdwire doctor " + srv.selector))
		}
		return s.doctor(r.Context(), r.PathValue("id"))
	})
	post(mux, "/api/servers/{id}/pins", func(r *http.Request, in struct {
		Kind  mcp.Kind
		Names []string
	}) (any, error) {
		return nil, s.servers.accept(r.Context(), r.PathValue("id"), in.Kind, in.Names)
	})
	post(mux, "/api/servers/{id}/subscriptions", func(r *http.Request, in struct {
		URI string
		On  bool
	}) (any, error) {
		return s.servers.ask(r, func(ctx context.Context, c *client.Client) (any, error) {
			if in.On {
				return nil, c.Subscribe(ctx, in.URI)
			}
			return nil, c.Unsubscribe(ctx, in.URI)
		})
	})
	post(mux, "/api/servers/{id}/level", func(r *http.Request, in struct {
		Level mcp.LoggingLevel
	}) (any, error) {
		return s.servers.ask(r, func(ctx context.Context, c *client.Client) (any, error) {
			return nil, c.SetLogLevel(ctx, in.Level)
		})
	})
	post(mux, "/api/servers/{id}/roots", func(r *http.Request, in struct {
		Result json.RawMessage
	}) (any, error) {
		return nil, s.servers.setRoots(r.Context(), r.PathValue("id"), in.Result)
	})
	post(mux, "/api/servers/{id}/complete", s.complete)
	post(mux, "/api/servers/{id}/snippets", func(r *http.Request, in struct{ Tool, Arguments string }) (any,
		error) {
		return s.servers.snippets(r.PathValue("id"), in.Tool, in.Arguments)
	})
	post(mux, "/api/servers/{id}/stream", func(r *http.Request, in struct{ Omit bool }) (any, error) {
		return nil, s.servers.omitStream(r.PathValue("id"), in.Omit)
	})
	post(mux, "/api/expand", expand)
	post(mux, "/api/calls", func(_ *http.Request, in callRequest) (any, error) {
		id, err := s.calls.start(in)
		return map[string]int64{"id": id}, err
	})
	post(mux, "/api/calls/{n}/cancel", func(r *http.Request, _ struct{}) (any, error) {
		n, err := reply.PathNumber(r)
		if err == nil {
			err = s.calls.cancel(n)
		}
		return nil, err
	})
	post(mux, "/api/questions/{n}", func(r *http.Request, in struct {
		Result json.RawMessage
		Always bool
	}) (any, error) {
		n, err := reply.PathNumber(r)
		if err == nil {
			err = s.questions.respond(n, in.Result, in.Always)
		}
		return nil, err
	})
	get("/api/saved", func(*http.Request) (any, error) { return s.saved.read() })
	post(mux, "/api/saved", func(_ *http.Request, in json.RawMessage) (any, error) {
		return nil, s.saved.write(in)
	})
	post(mux, "/api/saved/run", func(r *http.Request, in savedcall.File) (any, error) {
		return s.runSaved(r.Context(), in)
	})
	post(mux, "/api/diff", func(_ *http.Request, in struct{ Old, New int64 }) (any, error) {
		return s.traffic.Diff(in.Old, in.New)
	})
	post(mux, "/api/diff/connections", func(_ *http.Request, in struct{ Old, New int64 }) (any, error) {
		return s.traffic.DiffConnections(in.Old, in.New)
	})
	post(mux, "/api/traffic/clear", func(*http.Request, struct{}) (any, error) {
		s.traffic.Clear()
		return nil, nil
	})
	mux.HandleFunc("POST /api/recordings", s.upload)
	s.configuration.routes(mux)
	s.frames.routes(mux)
	s.logins.routes(mux)
	s.addRoutes(mux)
	s.servers.skillRoutes(mux)
	s.servers.taskRoutes(mux)
	s.traffic.Network.Routes(mux)
	mux.HandleFunc("POST /api/load", (&loads{servers: s.servers}).serve)
	s.servers.extensionRoutes(mux)
	s.gateway.routes(mux)
	s.pages.routes(mux)
	return mux
}

// post adds a route that changes something. Its input is JSON.
func post[In any](mux *http.ServeMux, path string, f func(*http.Request, In) (any, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var in In
		if !reply.Decode(w, r, &in) {
			return
		}
		if value, err := f(r, in); err != nil {
			reply.Fail(w, err)
		} else {
			reply.JSON(w, value)
		}
	})
}

// log answers with what the processes of a server have written to stderr.
func (s *site) log(r *http.Request) (any, error) {
	from, err := reply.Number(r, "from", 0)
	if err != nil {
		return nil, err
	}
	if s.gateway != nil {
		return s.gateway.log(r.Context(), r.PathValue("id"), from)
	}
	log, err := s.servers.manager.Log(r.PathValue("id"))
	if err != nil {
		return nil, reply.NotFound("server", r.PathValue("id"))
	}
	text, next, missed, _ := log.From(from)
	return map[string]any{"text": string(text), "next": next, "missed": missed}, nil
}

// complete answers with completions of an argument.
func (s *site) complete(r *http.Request, in struct {
	Ref       mcp.CompleteReference
	Argument  string
	Value     string
	Arguments map[string]string
}) (any, error) {
	return s.servers.ask(r, func(ctx context.Context, c *client.Client) (any, error) {
		return c.Complete(ctx, in.Ref, in.Argument, in.Value, in.Arguments)
	})
}

// snippets returns a call of a tool by language.
func (s *servers) snippets(id, tool, arguments string) (map[string]string, error) {
	srv, err := s.find(id)
	if err != nil {
		return nil, err
	}
	c := snippet.Call{Selector: srv.selector, URL: srv.url, Tool: tool, Arguments: arguments}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.state[id]; at != nil && at.details != nil {
		c.Era, c.Revision = at.details.Era, at.details.Revision
	}
	return snippet.Of(c), nil
}

// expand answers with the URI of a resource template for values, and with its variables.
func expand(_ *http.Request, in struct {
	Template string
	Values   map[string]string
}) (any, error) {
	t, err := uritemplate.Parse(in.Template)
	if err != nil {
		return nil, command.BadArgs("%v", err)
	}
	values := uritemplate.Values{}
	for name, text := range in.Values {
		values[name] = uritemplate.String(text)
	}
	uri, err := t.Expand(values)
	if err != nil {
		return nil, command.BadArgs("%v", err)
	}
	return map[string]any{"uri": uri, "variables": t.Variables()}, nil
}

// message answers with a message as it was sent.
func (s *site) message(r *http.Request) (any, error) {
	n, err := reply.PathNumber(r)
	if err != nil {
		return nil, err
	}
	m, err := s.traffic.Message(n)
	if err != nil {
		return nil, err
	}
	out := struct {
		*traffic.Message
		ByLength bool              `json:"by_length,omitempty"`
		Framing  string            `json:"framing,omitempty"`
		Partial  bool              `json:"partial,omitempty"`
		SHA256   string            `json:"sha256,omitempty"`
		Messages []tap.Message     `json:"messages,omitempty"`
		HTTP     *traffic.Exchange `json:"http,omitempty"`
		Problem  *reply.Problem    `json:"problem,omitempty"` // the JSON-RPC error that it has
		Text     string            `json:"text"`
		Bytes    []byte            `json:"bytes,omitempty"` // in place of Text if it is not UTF-8
	}{Message: m, ByLength: m.Record.ByLength, Framing: m.Record.Framing, Partial: m.Record.Partial,
		SHA256: m.Record.SHA256, Messages: m.Record.Messages, HTTP: s.traffic.Exchange(m),
		Problem: reply.ProblemIn(m.Record.Payload()), Text: string(m.Record.Payload())}
	if !utf8.ValidString(out.Text) {
		out.Text, out.Bytes = "", m.Record.Payload()
	}
	return out, nil
}

// exports are the formats of a connection's messages.
var exports = map[string]struct {
	contentType string
	write       func(*traffic.Traffic, io.Writer, *traffic.Connection) error
}{
	"jsonl": {"application/jsonl", (*traffic.Traffic).WriteRecording},
	"har":   {"application/json", (*traffic.Traffic).WriteHAR},
	"html":  {"text/html; charset=utf-8", (*traffic.Traffic).WriteReport},

	"otlp.json": {"application/json", (*traffic.Traffic).WriteTraces},
}

// export writes the messages of a connection as a file.
func (s *site) export(w http.ResponseWriter, r *http.Request) {
	format, ok := exports[r.URL.Query().Get("format")]
	n, err := reply.Number(r, "conn", 0)
	if err == nil && !ok {
		err = reply.NotFound("format", r.URL.Query().Get("format"))
	}
	var c *traffic.Connection
	if err == nil {
		c, err = s.traffic.Connection(n)
	}
	if err != nil {
		reply.Fail(w, err)
		return
	}
	w.Header().Set("Content-Type", format.contentType)
	w.Header().Set("Content-Disposition",
		fmt.Sprintf("attachment; filename=%q", traffic.ExportName(c, r.URL.Query().Get("format"))))
	_ = format.write(s.traffic, w, c) // an error means that the page has gone
}

// maxUpload is the number of bytes of a recording that the page may open.
const maxUpload = 256 << 20

// upload adds a recording that the user has chosen in the page.
func (s *site) upload(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	deadline := httpdeadline.New(w, r)
	deadline.BodyRead() // a recording may take longer
	note, err := s.traffic.Load(name, http.MaxBytesReader(w, r.Body, maxUpload))
	if err != nil {
		reply.Refuse(w, http.StatusBadRequest, name+": "+err.Error())
		return
	}
	reply.JSON(w, map[string]string{"note": note})
}
