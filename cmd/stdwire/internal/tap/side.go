package tap

import (
	"io"
	"sync"
	"time"
)

// A Side is one direction of the traffic.
type Side struct {
	recorder *Recorder
	from     Direction

	mu    sync.Mutex
	split splitter
	at    time.Time // of what is being split
	bytes int64     // that were seen
	ended bool
}

func newSide(r *Recorder, from Direction) *Side {
	s := &Side{recorder: r, from: from}
	s.split = splitter{limit: r.o.bounds.frame, emit: func(p piece) { r.offer(frame{piece: p, from: from, at: s.at}) }}
	return s
}

// Copy writes to dst what it reads from src, every byte at once, until src ends, which is no error, or either fails. It is called once.
func (s *Side) Copy(dst io.Writer, src io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			s.see(buf[:n]) // before anybody can answer it
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

// see takes a chunk of the traffic.
func (s *Side) see(p []byte) {
	at := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.at, s.bytes = at, s.bytes+int64(len(p))
	s.split.write(p)
}

// end takes what there is of a last frame.
func (s *Side) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended, s.at = true, time.Now()
		s.split.end()
	}
}
