package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stdwire/stdwire/client/auth"
	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/changes"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
)

// logins are the logins that the page has begun, at most one for each server at a URL. The page
// receives the URL at which the user grants access, on the authorization server. From there the
// browser is redirected to a port of this process, so no token reaches the page.
type logins struct {
	ctx     context.Context
	servers *servers
	changes *changes.Changes
	wg      sync.WaitGroup

	mu  sync.Mutex
	off string            // why logins are disabled; "" if they are not
	all map[string]*login // the latest login, by server
}

// A login is a login to a server. logins.mu guards it.
type login struct {
	cancel context.CancelFunc // nil after the end
	page   string             // the URL at which the user grants access; "" if not known yet
	failed *reply.Problem
}

func newLogins(ctx context.Context, s *servers, c *changes.Changes) *logins {
	return &logins{ctx: ctx, servers: s, changes: c, all: map[string]*login{}}
}

// disable makes all logins fail for the reason why.
func (l *logins) disable(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off = why
}

// An authorizationStatus says how requests to a server are authorized.
type authorizationStatus struct {
	Why         string                    `json:"why,omitempty"`     // why nobody can log in
	Command     string                    `json:"command,omitempty"` // that logs in
	Credentials []target.CredentialStatus `json:"credentials"`
	Running     bool                      `json:"running,omitempty"` // whether a login is running
	Page        string                    `json:"page,omitempty"`    // see login.page
	Problem     *reply.Problem            `json:"problem,omitempty"` // of the latest login
}

// find returns a server and its endpoint.
func (l *logins) find(id string) (*server, *config.Endpoint, error) {
	srv, err := l.servers.find(id)
	if err != nil {
		return nil, nil, err
	}
	if srv.endpoint == nil {
		return srv, &config.Endpoint{}, nil
	}
	endpoint, err := srv.endpoint()
	return srv, endpoint, err
}

// status returns how requests to a server are authorized.
func (l *logins) status(id string) (*authorizationStatus, error) {
	srv, endpoint, err := l.find(id)
	if err != nil {
		return nil, err
	}
	status := &authorizationStatus{Why: target.NoLoginReason(endpoint),
		Credentials: []target.CredentialStatus{}}
	if status.Why != "" {
		return status, nil
	}
	status.Command = srv.login
	store, err := target.OpenCredentials()
	if err != nil {
		return nil, err
	}
	found, err := store.Find(endpoint.URL)
	if len(found) == 0 && err != nil {
		return nil, err
	}
	for _, c := range found {
		status.Credentials = append(status.Credentials, target.NewCredentialStatus(c, time.Now()))
	}
	slices.SortFunc(status.Credentials, func(a, b target.CredentialStatus) int {
		return strings.Compare(a.Issuer, b.Issuer)
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	status.Why = l.off
	if latest := l.all[id]; latest != nil {
		status.Running, status.Page = latest.cancel != nil, latest.page
		status.Problem = latest.failed
	}
	return status, nil
}

// loginEndpoint returns the endpoint of a server, or why the user cannot log in to it.
func (l *logins) loginEndpoint(id string) (*config.Endpoint, error) {
	_, endpoint, err := l.find(id)
	if err != nil {
		return nil, err
	}
	why := target.NoLoginReason(endpoint)
	if why == "" {
		l.mu.Lock()
		why = l.off
		l.mu.Unlock()
	}
	if why != "" {
		return nil, &command.Failure{Code: "denied", Server: id, Why: why}
	}
	return endpoint, nil
}

// start begins a login, unless one is running already. After the login it restarts the server.
func (l *logins) start(id string) error {
	endpoint, err := l.loginEndpoint(id)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if latest := l.all[id]; latest != nil && latest.cancel != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(l.ctx)
	login := &login{cancel: cancel}
	l.all[id] = login
	l.wg.Go(func() {
		defer cancel()
		_, err := target.Login(ctx, id, endpoint, auth.AuthorizationCode{
			OpenBrowser: func(_ context.Context, page string) error {
				l.update(func() { login.page = page })
				return nil
			}})
		l.update(func() {
			login.cancel, login.page = nil, ""
			if err != nil && ctx.Err() == nil {
				login.failed = reply.ProblemOf(err)
			}
		})
		if err == nil {
			_ = l.servers.manager.Restart(id) // fails if the server is disabled or removed
		}
	})
	return nil
}

// update runs change, which changes a login, and tells the page.
func (l *logins) update(change func()) {
	l.mu.Lock()
	change()
	l.mu.Unlock()
	l.changes.Add(changes.Authorization)
}

// cancel ends a login.
func (l *logins) cancel(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if login := l.all[id]; login != nil && login.cancel != nil {
		login.cancel()
	}
}

// logout deletes and revokes the credentials for a server, and ends the connection that uses them.
func (l *logins) logout(ctx context.Context, id string) (warning string, err error) {
	endpoint, err := l.loginEndpoint(id)
	if err != nil {
		return "", err
	}
	unrevoked, err := target.Logout(ctx, id, endpoint)
	defer l.changes.Add(changes.Authorization)
	if err != nil {
		return "", err
	}
	if unrevoked != nil {
		warning = "The authorization server did not revoke them: " + unrevoked.Error()
	}
	for _, status := range l.servers.manager.Status() {
		if status.ID == id && status.State != host.Disabled && status.State != host.Stopped {
			return warning, serverActions["stop"](l.servers, ctx, id)
		}
	}
	return warning, nil
}

// routes adds the routes of logins.
func (l *logins) routes(mux *http.ServeMux) {
	const path = "/api/servers/{id}/authorization"
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		if status, err := l.status(r.PathValue("id")); err != nil {
			reply.Fail(w, err)
		} else {
			reply.JSON(w, status)
		}
	})
	post(mux, path+"/login", func(r *http.Request, _ struct{}) (any, error) {
		return nil, l.start(r.PathValue("id"))
	})
	post(mux, path+"/cancel", func(r *http.Request, _ struct{}) (any, error) {
		l.cancel(r.PathValue("id"))
		return nil, nil
	})
	post(mux, path+"/logout", func(r *http.Request, _ struct{}) (any, error) {
		warning, err := l.logout(r.Context(), r.PathValue("id"))
		return map[string]string{"warning": warning}, err
	})
}
