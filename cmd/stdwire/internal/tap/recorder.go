package tap

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Options configure a [Recorder].
type Options struct {
	To      io.Writer // gets the recording; nil for none
	MaxSize int64     // of the recording, in bytes
	Redact  bool      // replace values; see the flag of stdwire tap
	Command []string  // of the server, for the recording

	// Show, if not nil, is called for every frame, recorded or not. Its records are not redacted.
	Show func(*Record)

	// Warn is called once if the recording ends before the traffic does. It must not be nil.
	Warn func(error)

	limits limits // zero means defaultLimits
}

// ErrFull is the error for Warn when a recording has reached MaxSize.
var ErrFull = errors.New("it has reached its maximum size")

// A Recorder records both directions of the traffic. One goroutine writes and calls Show and Warn;
// [Recorder.Close] ends it.
type Recorder struct {
	Client, Server *Side

	o       Options
	started time.Time
	queue   chan frame
	queued  atomic.Int64 // bytes of the frames in queue
	lost    atomic.Int64 // number of frames dropped because queue was full
	done    chan struct{}

	// mu keeps the numbers of frames in the order of queue.
	mu     sync.Mutex
	frames int64

	// Only the goroutine uses the fields below.
	out      *bufio.Writer // nil if there is no recording, or after it failed
	limit    int64         // number of bytes that may still be written
	full     bool          // only the end note may still be written
	missing  int64         // frames that are not in the recording
	reported int64         // the part of lost that is in the recording
	line     []byte
	open     openRequests
	redactor *redactor // nil if nothing is redacted
	status   int
}

// A frame is an entry of the recorder's queue.
type frame struct {
	rawFrame
	from Direction
	n    int64
	at   time.Time
}

const (
	reserve     = 1 << 10 // bytes of MaxSize for the notes at the end
	maxKeptLine = 1 << 20 // bytes of the buffer that are kept between two lines
)

// Start starts a recording.
func (o Options) Start() *Recorder {
	o.limits = cmp.Or(o.limits, defaultLimits)
	r := &Recorder{o: o, started: time.Now(), queue: make(chan frame, o.limits.queueLength),
		done: make(chan struct{}), open: openRequests{}, limit: o.MaxSize - reserve}
	r.Client, r.Server = newSide(r, FromClient), newSide(r, FromServer)
	if o.To != nil {
		r.out = bufio.NewWriterSize(o.To, 64<<10)
	}
	if o.Redact {
		r.redactor = newRedactor()
	}
	go r.run()
	return r
}

// Close ends the recording with the exit status of the server, and waits until it is written. Later
// traffic is not recorded. If writing takes longer than timeout, Close returns false, and the
// recording lacks its last part and its end.
func (r *Recorder) Close(status int, timeout time.Duration) bool {
	r.Client.end()
	r.Server.end()
	r.status = status
	close(r.queue)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-r.done:
		return true
	case <-timer.C:
		return false
	}
}

// enqueue passes a frame to the goroutine, or drops it if the queue is full.
func (r *Recorder) enqueue(f frame) {
	cost := int64(len(f.payload))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames++
	f.n = r.frames
	if r.queued.Load()+cost > r.o.limits.queueBytes || len(r.queue) == cap(r.queue) {
		r.lost.Add(1)
		return
	}
	f.payload = bytes.Clone(f.payload)
	r.queued.Add(cost)
	r.queue <- f // does not block: only enqueue adds, under mu
}

func (r *Recorder) run() {
	defer close(r.done)
	note := &StartNote{Version: Version, Command: r.o.Command}
	if note.Redacted = r.redactor != nil; note.Redacted {
		note.Command = note.Command[:min(1, len(note.Command))]
	}
	r.write(&Record{At: r.started, Message: Message{Type: Start}, StartNote: note})
	for f := range r.queue {
		r.queued.Add(-int64(len(f.payload)))
		r.reportLost()
		r.write(r.record(f))
		if len(r.queue) == 0 {
			r.flush()
		}
	}
	r.reportLost()
	r.limit += reserve
	r.write(&Record{Seconds: r.seconds(time.Now()), Message: Message{Type: End},
		EndNote: &EndNote{r.status, r.Client.bytes, r.Server.bytes, r.missing}})
	r.flush()
}

// record returns the record of a frame, and passes it to Show.
func (r *Recorder) record(f frame) *Record {
	record := &Record{Seconds: r.seconds(f.at), At: f.at, N: f.n, From: f.from,
		Partial: f.partial, SHA256: f.sha256}
	record.setFraming(f.framing)
	whole := f.sha256 == ""
	switch {
	case f.partial:
		record.Type = Junk
	case whole && isBatch(f.payload):
		record.Type = Batch
		for element := range jsonscan.Elements(f.payload) {
			m := parseMessage(element, true)
			m.Size = int64(len(element))
			r.open.match(&m, f.from, f.n, record.Seconds)
			record.Messages = append(record.Messages, m)
		}
	default:
		record.Message = parseMessage(f.payload, whole)
		r.open.match(&record.Message, f.from, f.n, record.Seconds)
	}
	record.Size = f.size
	if r.o.Show != nil {
		shown := *record
		shown.setPayload(f.payload)
		r.o.Show(&shown)
	}
	switch {
	case r.redactor == nil:
		record.setPayload(f.payload)
	case whole && record.Type != Junk:
		record.setPayload(r.redactor.frame(nil, f.payload, f.from))
	default:
		record.Text, record.SHA256 = r.redactor.text("text", len(f.payload), f.payload),
			r.redactor.digest(f.sha256)
	}
	return record
}

// reportLost writes a note if frames were dropped since the last one.
func (r *Recorder) reportLost() {
	lost := r.lost.Load()
	if n := lost - r.reported; n > 0 {
		r.reported = lost
		r.missing += n
		r.write(&Record{Seconds: r.seconds(time.Now()), Message: Message{Type: Dropped}, Lost: n})
	}
}

// write writes a record as a line, if it fits.
func (r *Recorder) write(record *Record) {
	if r.out == nil || r.full && record.Type != End {
		r.countMissing(record)
		return
	}
	line, err := record.Append(r.line[:0])
	if err == nil && int64(len(line)) > r.limit && record.Type != Start {
		r.full = true
		r.countMissing(record)
		line, err = (&Record{Seconds: record.Seconds, Message: Message{Type: Full}}).Append(
			r.line[:0])
		defer r.o.Warn(ErrFull)
	}
	if err == nil {
		r.limit -= int64(len(line))
		_, err = r.out.Write(line)
	}
	if err != nil {
		r.stop(err)
	}
	if cap(line) <= maxKeptLine {
		r.line = line
	}
}

func (r *Recorder) countMissing(record *Record) {
	if record.N > 0 {
		r.missing++
	}
}

func (r *Recorder) flush() {
	if r.out == nil {
		return
	}
	if err := r.out.Flush(); err != nil {
		r.stop(err)
	}
}

// stop ends the recording but not the traffic. If the recording is full, Warn has been called.
func (r *Recorder) stop(err error) {
	r.out = nil
	if !r.full {
		r.o.Warn(err)
	}
}

// seconds returns the time since the start, rounded to microseconds.
func (r *Recorder) seconds(at time.Time) float64 {
	return float64(at.Sub(r.started).Microseconds()) / 1e6
}
