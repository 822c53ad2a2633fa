package streamable

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"sync"

	"github.com/stdwire/stdwire/dispatch/quota"
	"github.com/stdwire/stdwire/rpc"
)

// A body is the text of a request in a pooled buffer.
type body struct{ text []byte }

// bytes; larger buffers are not pooled, and not allocated because of Content-Length alone
const maxPooledBody = 64 << 10

var bodies = sync.Pool{New: func() any { return &body{make([]byte, 0, 1<<10)} }}

// free returns the buffer to the pool, unless it was detached.
func (b *body) free() {
	if b.text == nil || cap(b.text) > maxPooledBody {
		return
	}
	b.text = b.text[:0]
	bodies.Put(b)
}

// dropIfLarge drops the text of a large body.
func (b *body) dropIfLarge() {
	if cap(b.text) > maxPooledBody {
		b.text = nil
	}
}

// detach returns a body that owns the text. The caller must free it; freeing b has no effect.
func (b *body) detach() *body {
	taken := &body{b.text}
	b.text = nil
	return taken
}

// readBody reads the body of the request. The caller must free it.
func (x *httpRequest) readBody() (*body, *refusal) {
	kind := x.header("Content-Type")
	if kind != "application/json" {
		kind, _, _ = mime.ParseMediaType(kind) // JSON is always UTF-8, so parameters do not matter
	}
	if encoding := x.header("Content-Encoding"); kind != "application/json" || encoding != "" &&
		encoding != "identity" {
		return nil, newRefusal(http.StatusUnsupportedMediaType, rpc.CodeInvalidRequest,
			"the body must be plain JSON, and the Content-Type application/json")
	}
	claimed := x.r.ContentLength // -1: unknown
	if claimed > x.o.MaxBody {
		return nil, x.tooLarge()
	}
	in := io.Reader(x.r.Body)
	if claimed < 0 {
		in = http.MaxBytesReader(x.w, x.r.Body, x.o.MaxBody)
	}
	b := bodies.Get().(*body)
	if room := min(claimed+1, maxPooledBody); int64(cap(b.text)) < room {
		b.text = make([]byte, 0, room)
	}
	err := b.fill(in, claimed, &x.memory)
	if err == nil {
		x.deadlines.BodyRead()
		return b, nil
	}
	b.free()
	if quota.IsRefusal(err) {
		return nil, x.memory.bodyRefusal(err)
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, x.tooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, newRefusal(http.StatusRequestTimeout, rpc.CodeInvalidRequest,
			"the body took too long to come").withHeader("Connection", "close")
	}
	return nil, newRefusal(http.StatusBadRequest, rpc.CodeInvalidRequest,
		"the body did not come whole").withHeader("Connection", "close")
}

// fill reads to EOF. claimed is the expected size, or -1. The buffer grows by doubling, and its
// memory is reserved first, so that a claimed size alone reserves nothing.
func (b *body) fill(in io.Reader, claimed int64, m *requestMemory) error {
	for {
		if len(b.text) == cap(b.text) {
			room := 2 * cap(b.text)
			if claimed >= 0 {
				room = max(min(room, int(claimed)+1), cap(b.text)+1)
			}
			if room > maxPooledBody {
				if err := m.account().Resize(int64(room)); err != nil {
					return err
				}
			}
			b.text = append(make([]byte, 0, room), b.text...)
		}
		n, err := in.Read(b.text[len(b.text):cap(b.text)])
		b.text = b.text[:len(b.text)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (x *httpRequest) tooLarge() *refusal {
	return newRefusal(http.StatusRequestEntityTooLarge, rpc.CodeInvalidRequest,
		"the body is larger than %d bytes", x.o.MaxBody).withHeader("Connection", "close")
}
