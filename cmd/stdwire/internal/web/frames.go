package web

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/client/apps"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// maxFrames is the number of apps that are shown at the same time.
const maxFrames = 16

// frames are the apps that the page shows.
type frames struct {
	site    *site
	sandbox *sandbox
	wg      sync.WaitGroup

	mu   sync.Mutex
	open map[string]*frame // by id
	used int               // with those that are being opened
}

func newFrames(s *site) *frames {
	return &frames{site: s, sandbox: newSandbox(), open: map[string]*frame{}}
}

// An appSummary is what a user should know before an app is shown.
type appSummary struct {
	URI         string              `json:"uri"`
	Digest      string              `json:"digest"`
	Size        int                 `json:"size"`                  // bytes of its HTML
	Origins     []string            `json:"origins,omitempty"`     // that it wants to reach
	Invalid     []string            `json:"invalid,omitempty"`     // that it asks for in vain
	Permissions *mcp.AppPermissions `json:"permissions,omitempty"` // that it asks for
	Border      *bool               `json:"border,omitempty"`
	Domain      string              `json:"domain,omitempty"` // the origin that it asks for in vain
}

// A frameRequest says which app to show, and how.
type frameRequest struct {
	Server, Tool string
	Digest       string             // of the app that the user has agreed to
	Permissions  mcp.AppPermissions // that the user grants
	Call         int64              // whose arguments and result it shows; 0: see frame.setCall

	Theme, Locale, TimeZone string
	Width                   int // of its place, in pixels
}

// dimensions returns the size of the place of an app in pixels; height is 0 if it follows the app.
func dimensions(width, height int) json.RawMessage {
	const tallest = 2000 // as the page has it
	if height > 0 {
		return fmt.Appendf(nil, `{"width":%d,"height":%d}`, width, height)
	}
	return fmt.Appendf(nil, `{"width":%d,"maxHeight":%d}`, width, tallest)
}

// A frameDetails is what the page needs to show an app.
type frameDetails struct {
	ID      string `json:"id"`
	Address string `json:"address"` // of the sandbox proxy
	Origin  string `json:"origin"`  // of its messages
	HTML    string `json:"html"`
	Allow   string `json:"allow"` // the attribute of its frame
	Lane    string `json:"lane"`  // of its messages on the timeline
}

// readApp returns a tool and its app.
func readApp(ctx context.Context, c *client.Client, name string) (*mcp.Tool, *apps.App, error) {
	for tool, err := range client.OmitInvalid(c.Tools(ctx)) {
		if err != nil {
			return nil, nil, err
		}
		if tool.Name != name {
			continue
		}
		ui, has := apps.Of(tool)
		if !has {
			return nil, nil, reply.NotFound("app of the tool", name)
		}
		app, err := apps.Read(ctx, c, ui.ResourceURI)
		return tool, app, err
	}
	return nil, nil, reply.NotFound("tool", name)
}

// summary reads the app of a tool and says what it asks for.
func (f *frames) summary(ctx context.Context, id, tool string) (s appSummary, err error) {
	err = f.site.servers.use(ctx, id, func(_ *server, c *client.Client) error {
		_, app, err := readApp(ctx, c, tool)
		if err == nil {
			origins, invalid := app.Origins()
			s = appSummary{app.URI, app.Digest, len(app.HTML), origins, invalid,
				app.Meta.Permissions, app.Meta.PrefersBorder, app.Meta.Domain}
		}
		return err
	})
	return s, err
}

var (
	errTooManyFrames = &command.Failure{Code: "denied", Why: "too many apps are shown",
		Hint: "close one"}
	errAppChanged = &command.Failure{Code: "denied", Why: "the app has changed since it was looked at",
		Hint: "run the tool again"}
)

// check returns an error unless a call is one of a tool.
func (f *frames) check(call int64, server, tool string) error {
	called, err := f.site.calls.get(call)
	if err != nil {
		return err
	}
	if called.Request.Server != server || called.Tool != tool {
		return command.BadArgs("call %d is not one of this tool", call)
	}
	return nil
}

// show shows the app of a tool until the page, the server or the program ends it. origin is that of
// the sandbox.
func (f *frames) show(ctx context.Context, in frameRequest, origin string) (*frameDetails, error) {
	if in.Call != 0 {
		if err := f.check(in.Call, in.Server, in.Tool); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	if f.used >= maxFrames {
		f.mu.Unlock()
		return nil, errTooManyFrames
	}
	f.used++
	f.mu.Unlock()
	started := make(chan *frameDetails, 1)
	failed := make(chan error, 1)
	f.wg.Go(func() {
		err := f.site.servers.use(ctx, in.Server, func(one *server, c *client.Client) error {
			tool, app, err := readApp(ctx, c, in.Tool)
			if err != nil {
				return err
			}
			if app.Digest != in.Digest {
				return errAppChanged
			}
			fr := f.begin(one, c, tool, app, in)
			started <- &frameDetails{ID: fr.id, Address: origin + "/" + fr.id, Origin: origin,
				HTML: app.HTML, Allow: app.Allow(in.Permissions), Lane: appLane(one.id)}
			f.run(fr, c)
			return nil
		})
		f.mu.Lock()
		f.used--
		f.mu.Unlock()
		failed <- err
	})
	select {
	case details := <-started:
		return details, nil
	case err := <-failed:
		return nil, err
	}
}

// appLane returns the lane of the messages of a server's apps.
func appLane(id string) string { return id + "/app" }

// begin returns a frame for an app.
func (f *frames) begin(one *server, c *client.Client, tool *mcp.Tool, app *apps.App,
	in frameRequest) *frame {
	fr := newFrame(f.sandbox.add(app.ContentSecurityPolicy()),
		f.site.traffic.NewRecorder(appLane(one.id), []string{app.URI}))
	fr.server, fr.tool = one.id, tool.Name
	if in.Call != 0 {
		_ = fr.setCall(in.Call) // the first one
	}
	o := apps.Options{
		Host: mcp.Implementation{Name: "stdwire web", Version: command.Version()}, Tool: tool,
		Permissions: in.Permissions, Logger: slog.New(slog.DiscardHandler),
		Context: mcp.HostContext{Theme: in.Theme, DisplayMode: "inline",
			AvailableDisplayModes: []string{"inline", "pip", "fullscreen"},
			ContainerDimensions:   dimensions(in.Width, 0),
			Locale:                in.Locale, TimeZone: in.TimeZone, Platform: "web",
			UserAgent: "stdwire/" + command.Version()},
		Approve: func(ctx context.Context, t *mcp.Tool, arguments json.RawMessage) error {
			if err := one.checkAllowed(mcp.MethodCallTool, t.Name); err != nil {
				return rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
			}
			if !apps.Destructive(t) {
				return nil
			}
			_, err := ask[mcp.Object](ctx, f.site.questions, one.id, mcp.MethodCallTool,
				mcp.CallToolParams{Name: t.Name, Arguments: arguments})
			return err
		},
		OnOpenLink: func(ctx context.Context, url string) error {
			_, err := ask[mcp.Object](ctx, f.site.questions, one.id, mcp.MethodOpenLink,
				struct {
					URL string `json:"url"`
				}{url})
			return err
		},
	}
	fr.callbacks(&o)
	fr.view = o.Open(fr, c, app)
	f.mu.Lock()
	f.open[fr.id] = fr
	f.mu.Unlock()
	return fr
}

// run waits until a frame has ended, and tells the app of its call meanwhile.
func (f *frames) run(fr *frame, c *client.Client) {
	ctx, cancel := context.WithCancel(f.site.calls.ctx)
	var following sync.WaitGroup
	following.Go(func() { fr.follow(ctx, f.site.calls) })
	unread := time.AfterFunc(frameWait, func() {
		if !fr.taken.Load() {
			_ = fr.Close()
		}
	})
	select {
	case <-fr.ended:
	case <-fr.view.Done():
	case <-c.Done():
	case <-ctx.Done():
	}
	unread.Stop()
	cancel()
	_ = fr.view.Close()
	_ = fr.Close()
	<-fr.view.Done()
	following.Wait()
	f.sandbox.remove(fr.id)
	f.mu.Lock()
	delete(f.open, fr.id)
	f.mu.Unlock()
	fr.recorder.Close(0, time.Second)
}

func (f *frames) find(r *http.Request) (*frame, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fr := f.open[r.PathValue("frame")]; fr != nil {
		return fr, nil
	}
	return nil, reply.NotFound("app", r.PathValue("frame"))
}

// routes adds the routes of apps.
func (f *frames) routes(mux *http.ServeMux) {
	post(mux, "/api/apps/read", func(r *http.Request, in struct{ Server, Tool string }) (any, error) {
		return f.summary(r.Context(), in.Server, in.Tool)
	})
	post(mux, "/api/previews", func(r *http.Request, in struct{ HTML string }) (any, error) {
		path, err := f.sandbox.preview(in.HTML)
		return map[string]string{"address": f.sandbox.at(r) + path}, err
	})
	post(mux, "/api/apps", func(r *http.Request, in frameRequest) (any, error) {
		return f.show(r.Context(), in, f.sandbox.at(r))
	})
	mux.HandleFunc("GET /api/apps/{frame}/events", func(w http.ResponseWriter, r *http.Request) {
		if fr, err := f.find(r); err != nil {
			reply.Fail(w, err)
		} else {
			fr.serve(w, r)
		}
	})
	post(mux, "/api/apps/{frame}/messages", func(r *http.Request, in []json.RawMessage) (any,
		error) {
		return nil, f.act(r, func(fr *frame) error { return fr.receive(in) })
	})
	post(mux, "/api/apps/{frame}/context", func(r *http.Request, in struct {
		Theme, DisplayMode string
		Width, Height      int // see dimensions; without a width they have not changed
	}) (any, error) {
		changed := mcp.HostContext{Theme: in.Theme, DisplayMode: in.DisplayMode}
		if in.Width > 0 {
			changed.ContainerDimensions = dimensions(in.Width, in.Height)
		}
		return nil, f.act(r, func(fr *frame) error { return fr.change(r.Context(), changed) })
	})
	post(mux, "/api/apps/{frame}/partial", func(r *http.Request, in struct {
		Arguments json.RawMessage // of a call that is not made yet
		Percent   int             // of them that are written
	}) (any, error) {
		return nil, f.act(r, func(fr *frame) error {
			return fr.write(r.Context(), in.Arguments, in.Percent)
		})
	})
	post(mux, "/api/apps/{frame}/call", func(r *http.Request, in struct{ Call int64 }) (any, error) {
		fr, err := f.find(r)
		if err == nil {
			err = f.check(in.Call, fr.server, fr.tool)
		}
		if err == nil {
			err = fr.setCall(in.Call)
		}
		return nil, err
	})
	post(mux, "/api/apps/{frame}/close", func(r *http.Request, _ struct{}) (any, error) {
		return nil, f.act(r, func(fr *frame) error {
			ctx, cancel := context.WithTimeout(r.Context(), answerWait)
			defer cancel()
			_ = fr.view.Teardown(ctx) // it ends in any case
			return nil
		})
	})
}

// act calls do with the frame of a request, unless the frame has ended. That is no error: a frame
// may end while the page sends a request, and the end of its events tells the page.
func (f *frames) act(r *http.Request, do func(*frame) error) error {
	fr, err := f.find(r)
	if err != nil {
		return nil
	}
	err = do(fr)
	select {
	case <-fr.ended:
		return nil
	default:
		return err
	}
}
