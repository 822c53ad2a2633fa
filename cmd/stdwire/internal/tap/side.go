package tap

import (
	"io"
	"sync"
	"time"
)

// A Side is one direction of the traffic.
type Side struct {
	mu    sync.Mutex
	split frameSplitter
	at    time.Time // when the current chunk was read
	bytes int64     // read so far
	ended bool
}

func newSide(r *Recorder, from Direction) *Side {
	s := new(Side)
	s.split = frameSplitter{limit: r.o.limits.frame, emit: func(f rawFrame) {
		r.enqueue(frame{rawFrame: f, from: from, at: s.at})
	}}
	return s
}

// Copy copies src to dst, each chunk at once, until src ends, which is not an error, or either
// fails. It must be called once.
func (s *Side) Copy(dst io.Writer, src io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			s.observe(buf[:n]) // before the other side can respond
			if _, err := dst.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Frame records a whole frame, for a caller that has frames and no stream. It copies the frame, and
// does not block. A stream that is copied by Copy must not get frames.
func (s *Side) Frame(payload []byte) { s.pass(payload, s.split.whole) }

// observe passes a chunk of the traffic to the recorder.
func (s *Side) observe(p []byte) { s.pass(p, s.split.write) }

// pass passes bytes of the traffic, which were read just now, to a method of split.
func (s *Side) pass(p []byte, to func([]byte)) {
	at := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.at, s.bytes = at, s.bytes+int64(len(p))
	to(p)
}

// end passes the rest of the stream to the recorder as its last frame.
func (s *Side) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended, s.at = true, time.Now()
		s.split.end()
	}
}
