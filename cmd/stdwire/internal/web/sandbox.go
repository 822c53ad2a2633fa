package web

import (
	"crypto/rand"
	_ "embed"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
)

// proxy is the sandbox proxy of MCP Apps: a page of another origin that shows the HTML of an app in
// a frame without an origin, and forwards messages between the app and the page of stdwire web.
//
//go:embed sandbox.html
var proxy []byte

// A sandbox serves the proxies of the apps that are shown, and previews of HTML, from a port of its
// own. It has nothing else: no key, no API, no file of the page.
type sandbox struct {
	listener net.Listener
	page     int // the port of the page

	mu       sync.Mutex
	policies map[string]string // Content-Security-Policy by the id of the frame
	previews []preview         // the oldest first
}

func newSandbox() *sandbox { return &sandbox{policies: map[string]string{}} }

// A preview is HTML of a server that the user looks at. It has no script, and fetches nothing.
type preview struct {
	id   string
	html string
}

const (
	maxPreviews = 8
	maxPreview  = 8 << 20 // bytes
	// previewPolicy is the Content-Security-Policy of previews. Without allow-scripts, sandbox also
	// blocks a refresh; the policy of the page blocks links to elsewhere.
	previewPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; " +
		"media-src data:; base-uri 'none'; form-action 'none'; sandbox; frame-ancestors "
)

// preview returns the path of a preview of HTML. The oldest ones are forgotten.
func (s *sandbox) preview(html string) (path string, err error) {
	if len(html) > maxPreview {
		return "", command.BadArgs("the HTML has more than %d bytes", maxPreview)
	}
	one := preview{rand.Text(), html}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.previews = append(s.previews, one)
	if len(s.previews) > maxPreviews {
		s.previews = slices.Delete(s.previews, 0, 1)
	}
	return "/preview/" + one.id, nil
}

// previewAt returns the HTML of a preview.
func (s *sandbox) previewAt(path string) (html string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.previews {
		if path == "/preview/"+one.id {
			return one.html, true
		}
	}
	return "", false
}

// listen opens the port of the sandbox beside that of the page.
func (s *sandbox) listen(page net.Addr) (err error) {
	host, port, err := net.SplitHostPort(page.String())
	if err != nil {
		return err
	}
	if s.page, err = strconv.Atoi(port); err != nil {
		return err
	}
	s.listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	return err
}

// origin returns the origin of a port for a browser that sends this Host header, which access
// allows.
func origin(host string, port int) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return "http://" + net.JoinHostPort(name, strconv.Itoa(port))
}

// at returns the origin of the sandbox for the page that a request is from; "" if there is none.
func (s *sandbox) at(r *http.Request) string {
	if s.listener == nil {
		return ""
	}
	return origin(r.Host, s.listener.Addr().(*net.TCPAddr).Port)
}

// add returns the id of a new frame with a Content-Security-Policy. Nobody can guess it.
func (s *sandbox) add(policy string) string {
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policies[id] = policy
	return id
}

func (s *sandbox) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.policies, id)
}

func (s *sandbox) policy(id string) (policy string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	policy, known = s.policies[id]
	return policy, known
}

// handler serves each frame to the page alone: the browser refuses to show it in another one.
func (s *sandbox) handler(a *access) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Origin-Agent-Cluster", "?1")
		h.Set("X-DNS-Prefetch-Control", "off")
		h.Set("Cache-Control", "no-store")
		if !a.allowsHost(r.Host) {
			reply.Refuse(w, http.StatusForbidden, "this host name is not allowed here: use the IP address")
			return
		}
		if r.Method != http.MethodGet {
			reply.Refuse(w, http.StatusMethodNotAllowed, "a frame is only read")
			return
		}
		if !framed(r) {
			reply.Refuse(w, http.StatusForbidden, "this is for a frame of the page of stdwire web")
			return
		}
		if html, known := s.previewAt(r.URL.Path); known {
			h.Set("Content-Security-Policy", previewPolicy+origin(r.Host, s.page))
			h.Set("Content-Type", contentTypes[".html"])
			_, _ = io.WriteString(w, html)
			return
		}
		policy, known := s.policy(strings.TrimPrefix(r.URL.Path, "/"))
		if !known {
			reply.Refuse(w, http.StatusNotFound, "there is no such frame")
			return
		}
		h.Set("Content-Security-Policy",
			policy+"; form-action 'none'; frame-ancestors "+origin(r.Host, s.page))
		h.Set("Content-Type", contentTypes[".html"])
		_, _ = w.Write(proxy)
	})
}

// framed reports whether a request may be that of a frame of the page. A browser without Fetch
// Metadata is left to frame-ancestors.
func framed(r *http.Request) bool {
	site, to := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Dest")
	return (site == "" || site == "same-site") && (to == "" || to == "iframe") &&
		r.Header.Get("Origin") == ""
}
