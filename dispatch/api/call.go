package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contextkey"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/quota"
)

const surface = "http"

// call answers POST /v1/{service}.
func (x *exchange) call() *refusal {
	text, refused := x.read()
	if refused != nil {
		return refused
	}
	end, refused := x.begin()
	if refused != nil {
		return refused
	}
	defer end()
	b, err := parse(text)
	if err != nil {
		return &refusal{status: http.StatusBadRequest, err: err}
	}
	name := x.r.URL.Path[len(root):]
	if b.action != "" {
		name += "." + b.action
	}
	ctx := context.WithValue(quota.NewContext(x.r.Context(), x.account), contextkey.Principal{},
		x.principal)
	op, failure := x.dispatcher.Find(ctx, name) // what is checked is what runs
	switch {
	case failure != nil && (x.o.Visible == nil || failure.Code != dispatch.UnknownOperation):
		return x.answer(dispatch.Envelope{Err: failure, Session: b.session})
	case failure != nil || !x.sees(op):
		return x.answer(x.unknownOperation(name))
	}
	if err := b.fits(op); err != nil {
		return &refusal{status: http.StatusBadRequest, err: err}
	}
	result := x.dispatcher.Run(ctx, op, &dispatch.Call{
		Operation: name, Arguments: b.params, Instance: b.instance, Session: b.session,
		Confirmed: b.confirm,
		Principal: x.principal, RequestID: x.id, Surface: surface, ArgumentsAreJSON: true,
	})
	if x.o.Visible != nil && result.Err != nil && result.Err.Code == dispatch.UnknownOperation {
		result = x.unknownOperation(name) // of an interceptor, which may say more
	}
	if e := result.Err; e != nil && e.Code == dispatch.ConfirmationRequired && !b.confirm {
		refused := *e
		refused.Message += ` ("confirm":true in the body confirms the call)`
		result.Err = &refused
	}
	return x.answer(result)
}

// read returns the body.
func (x *exchange) read() ([]byte, *refusal) {
	kind := x.r.Header.Get("Content-Type")
	if kind != "application/json" {
		// the parameters do not matter: JSON is always UTF-8
		kind, _, _ = mime.ParseMediaType(kind)
	}
	encoding := x.r.Header.Get("Content-Encoding")
	encoded := encoding != "" && !strings.EqualFold(encoding, "identity")
	if encoded || kind != "application/json" {
		return nil, refuse(http.StatusUnsupportedMediaType, dispatch.InvalidInput,
			"the body must be plain JSON, and the Content-Type application/json")
	}
	claimed := x.r.ContentLength // -1 if the header does not say
	if claimed > x.o.MaxBody {
		return nil, x.tooLarge()
	}
	text, err := x.fill(http.MaxBytesReader(x.w, x.r.Body, x.o.MaxBody), claimed)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, x.tooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, refuse(http.StatusRequestTimeout, dispatch.Timeout,
			"the body took too long to come").with("Connection", "close")
	}
	if quota.IsRefusal(err) {
		return nil, busy(err, "other bodies and answers take up the memory")
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, dispatch.InvalidInput,
			"the body did not come whole")
	}
	x.deadlines.BodyRead()
	return text, nil
}

// uncounted is the number of bytes of a body and of an answer that are not counted as memory: the
// limit on concurrent requests covers them. It is also the most that is allocated because a header
// announces a body.
const uncounted = 64 << 10

// fill reads the rest of the body. It reserves memory before it reads, except for the first bytes.
func (x *exchange) fill(in io.Reader, claimed int64) ([]byte, error) {
	text := make([]byte, 0, min(max(claimed, 0), uncounted)+bytes.MinRead)
	for {
		if len(text) == cap(text) {
			room := 2 * cap(text)
			if claimed >= 0 {
				room = min(room, int(claimed)+bytes.MinRead)
			}
			if room > uncounted+bytes.MinRead {
				if err := x.account.Resize(int64(room)); err != nil {
					return nil, err
				}
			}
			text = append(make([]byte, 0, room), text...)
		}
		n, err := in.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == io.EOF {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (x *exchange) tooLarge() *refusal {
	return refuse(http.StatusRequestEntityTooLarge, dispatch.InvalidInput,
		"the body is larger than %d bytes", x.o.MaxBody)
}

// A selector is a member of the body that sets the argument of the same name.
type selector struct {
	name string
	code dispatch.Code // declared by the operations that have the argument
	in   func(*body) string
}

var selectors = [...]selector{
	{"instance", dispatch.UnknownInstance, func(b *body) string { return b.instance }},
	{"session", dispatch.NotRunning, func(b *body) string { return b.session }},
}

// takes reports whether an operation has the selector's argument.
func (s selector) takes(op *dispatch.Operation) bool {
	return jsonscan.Member(jsonscan.Member(op.Spec().Input, "properties"), s.name) != nil &&
		slices.Contains(op.Spec().Errors, s.code)
}

// fits returns an error for a selector that the operation would ignore.
func (b *body) fits(op *dispatch.Operation) *dispatch.Error {
	for _, s := range selectors {
		if s.in(b) != "" && !s.takes(op) {
			return dispatch.Errorf(dispatch.InvalidInput, "the operation %q takes no %s", op.Name(),
				s.name)
		}
	}
	return nil
}
