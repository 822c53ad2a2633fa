package rpchttp

import (
	"errors"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/internal/httphost"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
)

// A refusal is why an HTTP request is refused before its messages are served.
type refusal struct {
	status int
	err    *rpc.Error
	header [2]string // name and value of an additional header
}

func refuse(status int, name, value, format string, args ...any) *refusal {
	code := rpc.CodeInvalidRequest
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		code = rpc.CodeBusy
	}
	return &refusal{status, rpc.Errorf(code, format, args...), [2]string{name, value}}
}

// mediaTypes are those of JSON and those that drafts of JSON-RPC over HTTP name. No browser sends
// one of them to another origin without asking first.
var mediaTypes = [...]string{"application/json", "application/json-rpc", "application/jsonrequest"}

// check refuses a request because of its head.
func (h *Handler) check(r *http.Request) *refusal {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	encoding := r.Header.Get("Content-Encoding")
	switch {
	case r.Method != http.MethodPost:
		return refuse(http.StatusMethodNotAllowed, "Allow", http.MethodPost,
			"the method %.20q is not for JSON-RPC; want POST", r.Method)
	case !httphost.Allows(h.o.AllowedHosts, r):
		return refuse(http.StatusForbidden, "Vary", "Host",
			"the host %.100q is not allowed here; if it should be, add it to the allowed hosts",
			r.Host)
	case h.origins.Check(r) != nil:
		return refuse(http.StatusForbidden, "Vary", "Origin",
			"a page of another origin may not call this")
	case !slices.Contains(mediaTypes[:], kind) || encoding != "" && !strings.EqualFold(encoding, "identity"):
		return refuse(http.StatusUnsupportedMediaType, "Accept-Post", mediaTypes[0],
			"the body must be plain JSON, and the Content-Type application/json")
	case r.ContentLength > h.o.MaxBody:
		return h.tooLarge()
	}
	return nil
}

func (h *Handler) tooLarge() *refusal {
	return refuse(http.StatusRequestEntityTooLarge, "Connection", "close",
		"the body is larger than %d bytes", h.o.MaxBody)
}

// readBody reads the body. Its memory grows with what arrives, not with what Content-Length claims.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request,
	memory *quota.Account) ([]byte, *refusal) {
	body, err := readAll(http.MaxBytesReader(w, r.Body, h.o.MaxBody), memory)
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case err == nil:
		return jsonscan.TrimBOM(body), nil
	case quota.IsRefusal(err):
		return nil, quotaRefusal(err, "bytes")
	case large:
		return nil, h.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, refuse(http.StatusRequestTimeout, "Connection", "close",
			"the body took too long to come")
	}
	return nil, refuse(http.StatusBadRequest, "Connection", "close", "the body did not come whole")
}
