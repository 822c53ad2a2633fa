package streamable

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"

	"github.com/stdwire/stdwire/internal/buffer"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/rpc"
)

// freeIfLarge frees the memory of a large buffer. Freeing it again has no effect.
func freeIfLarge(b *buffer.Buffer) {
	if cap(b.B) > buffer.Small {
		b.Take().Free()
	}
}

// readBody reads the body of the request. The caller must free it.
func (x *httpRequest) readBody() (*buffer.Buffer, *refusal) {
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
	b := buffer.Get(0)
	// A large buffer is not allocated because of Content-Length alone.
	if room := max(1<<10, min(claimed+1, buffer.Small)); int64(cap(b.B)) < room {
		b.B = make([]byte, 0, room)
	}
	err := fill(b, in, claimed, &x.memory)
	if err == nil {
		x.deadlines.BodyRead()
		if text := jsonscan.TrimBOM(b.B); len(text) < len(b.B) {
			b.B = append(b.B[:0], text...)
		}
		return b, nil
	}
	b.Free()
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
func fill(b *buffer.Buffer, in io.Reader, claimed int64, m *requestMemory) error {
	for {
		if len(b.B) == cap(b.B) {
			room := 2 * cap(b.B)
			if claimed >= 0 {
				room = max(min(room, int(claimed)+1), cap(b.B)+1)
			}
			if room > buffer.Small {
				if err := m.account().Resize(int64(buffer.Capacity(room))); err != nil {
					return err
				}
			}
			b.Grow(room - len(b.B))
		}
		n, err := in.Read(b.B[len(b.B):cap(b.B)])
		b.B = b.B[:len(b.B)+n]
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
