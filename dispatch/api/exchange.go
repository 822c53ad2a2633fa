package api

import (
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/internal/quota"
)

// An exchange is one request and its answer.
type exchange struct {
	*handler
	w         http.ResponseWriter
	r         *http.Request
	id        string
	principal string
	account   *quota.Account // the memory that the request holds
	deadlines httpdeadline.Request
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{handler: h, w: w, r: r, id: requestID(r)}
	w.Header().Set("X-Request-Id", x.id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	x.deadlines = httpdeadline.New(w, r)
	if refused := x.serve(); refused != nil {
		x.refuse(refused)
	}
}

// serve answers the request, or returns why it is refused.
func (x *exchange) serve() *refusal {
	if refused := x.guard(); refused != nil {
		return refused
	}
	answer, refused := x.route()
	if refused == nil {
		refused = x.authenticate()
	}
	if refused != nil {
		return refused
	}
	x.account = (*quota.Pool)(x.o.Memory).Open(x.owner())
	defer x.account.Close()
	return answer(x)
}

// begin counts the request among the concurrent requests, until end is called. A request is not
// counted while its body is arriving.
func (x *exchange) begin() (end func(), refused *refusal) {
	if err := x.calls.Take(x.owner(), 1); err != nil {
		return nil, busy(err, "as many requests as may be are being served")
	}
	return func() { x.calls.Give(x.owner(), 1) }, nil
}

// route returns the function that answers a request of this method and path.
func (x *exchange) route() (answer func(*exchange) *refusal, refused *refusal) {
	path, below := strings.CutPrefix(x.r.URL.Path, root)
	_, document := documentTable[path]
	service := path != "" && !strings.ContainsAny(path, "./")
	if !below || !document && !service {
		return nil, refuse(http.StatusNotFound, dispatch.UnknownOperation,
			"there is nothing at %.100q; want POST /v1/{service}, GET /v1/manifest or GET /v1/openapi.json",
			x.r.URL.Path)
	}
	var allowed []string
	if document {
		allowed = append(allowed, http.MethodGet, http.MethodHead)
	}
	if service {
		allowed = append(allowed, http.MethodPost)
	}
	switch method := x.r.Method; {
	case service && method == http.MethodPost:
		return (*exchange).call, nil
	case document && (method == http.MethodGet || method == http.MethodHead):
		return (*exchange).document, nil
	default:
		allow := strings.Join(allowed, ", ")
		return nil, refuse(http.StatusMethodNotAllowed, dispatch.InvalidInput,
			"the method %.20q is not for this path; want %s", method, allow).with("Allow", allow)
	}
}

const (
	root         = "/v1/"
	maxRequestID = 128 // bytes
)

// requestID returns the request's X-Request-Id if it is valid, and otherwise a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > maxRequestID || strings.ContainsFunc(id, func(c rune) bool {
		return c <= ' ' || c > '~'
	}) {
		return rand.Text()
	}
	return id
}
