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

// Options say what becomes of what was said.
type Options struct {
	To      io.Writer // gets the recording; nil if nobody wants it
	MaxSize int64     // of the recording, in bytes
	Redact  bool      // leave out values: see the flag of stdwire tap
	Command []string  // of the server, for the recording

	// Show is called for every frame, recorded or not, if it is not nil. As it shows things to who is here, what it is given is not redacted.
	Show func(*Record)

	// Warn is called once when the recording ends before everything has. It is not nil.
	Warn func(error)

	bounds bounds // the usual ones, if it is zero
}

// ErrFull is what Warn is told when a recording has reached its size.
var ErrFull = errors.New("it has reached its size")

// A Recorder records both directions. One goroutine of its own writes, and calls Show and Warn; [Recorder.Close] ends it.
type Recorder struct {
	Client, Server *Side

	o      Options
	began  time.Time
	queue  chan frame
	queued atomic.Int64 // bytes of what is in queue
	lost   atomic.Int64 // frames that found no room there, in all
	done   chan struct{}

	// Of whoever offers a frame: they are numbered in the order of the queue.
	offering sync.Mutex
	numbered int64

	// Of the goroutine.
	out      *bufio.Writer // nil if nothing is recorded, or nothing any more
	limit    int64         // bytes that may still be written
	full     bool          // there is no more room but for the end
	missing  int64         // frames that are not in the recording
	told     int64         // of those that were lost, how many the recording tells of
	line     []byte
	open     pairing
	redactor *redactor // nil if nothing is left out
	status   int
}

// A frame is what the goroutine is given of one.
type frame struct {
	piece
	from Direction
	n    int64
	at   time.Time
}

const (
	reserve  = 1 << 10 // of the recording's size, for the notes at the end
	keptLine = 1 << 20 // of memory, between two lines
)

// Start starts a recording.
func (o Options) Start() *Recorder {
	o.bounds = cmp.Or(o.bounds, usual)
	r := &Recorder{o: o, began: time.Now(), queue: make(chan frame, o.bounds.waiting), done: make(chan struct{}), open: pairing{}, limit: o.MaxSize - reserve}
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

// Close ends the recording, with the exit status of the server, and waits for it to be written. What comes from the streams afterwards is not recorded. It waits for no longer than
// patience; if that was not enough, the last part of the recording is missing, its end with it, and Close returns false.
func (r *Recorder) Close(status int, patience time.Duration) bool {
	r.Client.end()
	r.Server.end()
	r.status = status
	close(r.queue)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-r.done:
		return true
	case <-timer.C:
		return false
	}
}

// offer hands over a frame, unless there is no room.
func (r *Recorder) offer(f frame) {
	cost := int64(len(f.payload))
	r.offering.Lock()
	defer r.offering.Unlock()
	r.numbered++
	f.n = r.numbered
	if r.queued.Load()+cost > r.o.bounds.queued || len(r.queue) == cap(r.queue) {
		r.lost.Add(1)
		return
	}
	f.payload = bytes.Clone(f.payload)
	r.queued.Add(cost)
	r.queue <- f // there is room: nobody else makes it less
}

func (r *Recorder) run() {
	defer close(r.done)
	note := &StartNote{Version: Version, Command: r.o.Command}
	if note.Redacted = r.redactor != nil; note.Redacted {
		note.Command = note.Command[:min(1, len(note.Command))]
	}
	r.write(&Record{At: r.began, Message: Message{Kind: Start}, StartNote: note})
	for f := range r.queue {
		r.queued.Add(-int64(len(f.payload)))
		r.tellLost()
		r.write(r.record(f))
		if len(r.queue) == 0 {
			r.flush()
		}
	}
	r.tellLost()
	r.limit += reserve
	r.write(&Record{Seconds: r.seconds(time.Now()), Message: Message{Kind: End}, EndNote: &EndNote{r.status, r.Client.bytes, r.Server.bytes, r.missing}})
	r.flush()
}

// record makes a record of a frame, and shows it.
func (r *Recorder) record(f frame) *Record {
	record := &Record{Seconds: r.seconds(f.at), At: f.at, N: f.n, From: f.from, ByLength: f.byLength, Partial: f.partial, SHA256: f.sha256}
	whole := f.sha256 == ""
	switch {
	case f.partial:
		record.Kind = Junk
	case whole && isBatch(f.payload):
		record.Kind = Batch
		for element := range jsonscan.Elements(f.payload) {
			m := scan(element, true)
			m.Size = int64(len(element))
			r.open.pair(&m, f.from, f.n, record.Seconds)
			record.Messages = append(record.Messages, m)
		}
	default:
		record.Message = scan(f.payload, whole)
		r.open.pair(&record.Message, f.from, f.n, record.Seconds)
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
	case whole && record.Kind != Junk:
		record.setPayload(r.redactor.frame(nil, f.payload, f.from))
	default:
		record.Text, record.SHA256 = r.redactor.text("text", len(f.payload), f.payload), r.redactor.digest(f.sha256)
	}
	return record
}

// tellLost notes that frames were lost since the last time.
func (r *Recorder) tellLost() {
	lost := r.lost.Load()
	if n := lost - r.told; n > 0 {
		r.told = lost
		r.missing += n
		r.write(&Record{Seconds: r.seconds(time.Now()), Message: Message{Kind: Dropped}, Lost: n})
	}
}

// write writes a line, if it fits.
func (r *Recorder) write(record *Record) {
	if r.out == nil || r.full && record.Kind != End {
		r.leaveOut(record)
		return
	}
	line, err := record.append(r.line[:0])
	if err == nil && int64(len(line)) > r.limit && record.Kind != Start { // without which it would be none
		r.full = true
		r.leaveOut(record)
		line, err = (&Record{Seconds: record.Seconds, Message: Message{Kind: Full}}).append(r.line[:0])
		defer r.o.Warn(ErrFull)
	}
	if err == nil {
		r.limit -= int64(len(line))
		_, err = r.out.Write(line)
	}
	if err != nil {
		r.stop(err)
	}
	if cap(line) <= keptLine {
		r.line = line
	}
}

func (r *Recorder) leaveOut(record *Record) {
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

// stop ends the recording, not the traffic. What is no more than full has been told already.
func (r *Recorder) stop(err error) {
	r.out = nil
	if !r.full {
		r.o.Warn(err)
	}
}

// seconds is the time since the start, to the microsecond.
func (r *Recorder) seconds(at time.Time) float64 {
	return float64(at.Sub(r.began).Microseconds()) / 1e6
}
