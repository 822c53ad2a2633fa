package streamable

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

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
	encoding := x.header("Content-Encoding")
	encoded := encoding != "" && !strings.EqualFold(encoding, "identity")
	if encoded || kind != "application/json" {
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
	err := x.fill(b, in, claimed)
	if err == nil {
		x.deadlines.BodyRead()
		if text := jsonscan.TrimBOM(b.B); len(text) < len(b.B) {
			b.B = append(b.B[:0], text...)
		}
		return b, nil
	}
	x.message.EndBody()
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

// fill reads to EOF. claimed is the expected size, or -1. Because the client need not send what it
// claims, the part of the buffer that is in use grows by doubling, from at most 64 KiB to the
// size claimed. Before each step, the body waits for its turn to be read, and more memory is
// reserved.
func (x *httpRequest) fill(b *buffer.Buffer, in io.Reader, claimed int64) error {
	room := int(claimed) + 1 // one more, to read to EOF
	for room > buffer.Small {
		room = (room + 1) / 2
	}
	room = max(room, 1<<10)
	if claimed < 0 {
		room = max(room, cap(b.B))
	}
	for {
		if room > buffer.Small {
			if x.r.ProtoMajor < 2 { // in HTTP/2, what is not read holds up others of the connection
				x.message.Read(x.r.Context(), max(claimed, int64(room)))
			}
			if err := x.memory.account().Resize(int64(buffer.Capacity(room))); err != nil {
				return err
			}
		}
		b.Grow(room - len(b.B))
		for len(b.B) < room {
			n, err := in.Read(b.B[len(b.B):room])
			b.B = b.B[:len(b.B)+n]
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
		room *= 2
	}
}

func (x *httpRequest) tooLarge() *refusal {
	return newRefusal(http.StatusRequestEntityTooLarge, rpc.CodeInvalidRequest,
		"the body is larger than %d bytes", x.o.MaxBody).withHeader("Connection", "close")
}
