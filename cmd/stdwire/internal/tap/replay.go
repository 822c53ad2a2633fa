package tap

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/jsondiff"
)

// A Replay says once more to a server what a recording has a client say.
type Replay struct {
	Timeout time.Duration // for each answer, and for each frame to be taken
	Ignore  []string      // names of members that may differ

	// Answered is called with every answer that the recording has, when it has come or is not going to.
	Answered func(Answer)
}

// An Answer is one that the recording has, compared with the one that came; or a request of the server's that the recording has an answer to, and did not come.
type Answer struct {
	N       int64 // the number of its frame in the recording
	Message Message
	Changes []jsondiff.Change // from the recording to now
	Missing bool              // none came in time
}

// Same reports whether an answer came that is the same.
func (a *Answer) Same() bool { return !a.Missing && len(a.Changes) == 0 }

// Errors of [Replay.Run].
var (
	ErrServerEnded = errors.New("the server has ended")
	ErrSilent      = errors.New("too many answers are missing")
	ErrNotTaken    = errors.New("the server does not read what is written to it")
)

// maxMissing is after how many missing answers nobody waits for more.
const maxMissing = 3

// Run replays a recording to a server. Frames of the client are written in their order, each when everything has come from the server that the recording has before it: the answers to the
// client's requests, and for an answer of the client's what it answers. A request of the server's may have another id now: it is answered by that. What else the server says is not looked at,
// and its pings are answered only where they were before.
//
// It returns when the recording has ended, which is no error, the server has, or ctx has. The errors are those above, those of the [Reader], one about a frame that is not whole in the
// recording, and that of ctx. It closes in. A goroutine reads out to its end, which is for the caller to make come.
func (r *Replay) Run(ctx context.Context, recording *Reader, in io.WriteCloser, out io.Reader) error {
	p := &player{Replay: r, in: in, box: newMailbox(), framings: map[bool]framing.Codec{
		false: framing.Newline(nil, framing.Limits{MaxFrame: MaxFrame}), true: framing.ContentLength(nil, framing.Limits{MaxFrame: MaxFrame}),
	}}
	go p.box.fill(out)
	defer in.Close()
	return p.play(ctx, recording)
}

// A player is a replay that is running.
type player struct {
	*Replay
	in       io.WriteCloser
	box      *mailbox
	framings map[bool]framing.Codec // by whether it is Content-Length
	missing  int
}

func (p *player) play(ctx context.Context, recording *Reader) error {
	for {
		record, _, err := recording.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case record.Kind == Start && record.Redacted:
			return errors.New("the recording is redacted: what was said is not in it")
		case record.From == FromClient:
			err = p.say(ctx, record)
		case record.From == FromServer:
			err = p.hear(ctx, record)
		}
		if err != nil {
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// say writes a frame of the client's.
func (p *player) say(ctx context.Context, record *Record) error {
	payload := record.Payload()
	if record.SHA256 != "" || len(payload) == 0 {
		return fmt.Errorf("frame %d of the recording was too large to be kept whole: it cannot be replayed", record.N)
	}
	if record.Partial {
		return nil
	}
	messages, texts := record.All()
	for i, m := range messages {
		switch {
		case m.Kind == Request:
			p.box.expect(string(m.ID))
		case m.Kind == Response && m.Of != 0 && texts[i] != nil && record.Kind == Response:
			id, err := p.question(ctx, record, m)
			if id == nil || err != nil {
				return err
			}
			payload = withID(texts[i], id)
		}
	}
	if record.Kind == Junk && !record.ByLength {
		return p.write(append(bytes.Clone(payload), '\n')) // as it was, which may be half a header block
	}
	frame, err := p.framings[record.ByLength].AppendFrame(nil, payload)
	if err != nil {
		return fmt.Errorf("frame %d of the recording cannot be replayed: %w", record.N, err)
	}
	return p.write(frame)
}

// question waits for the request of the server's that the client has answered, and returns its id; nil if it does not come.
func (p *player) question(ctx context.Context, record *Record, m Message) ([]byte, error) {
	if m.Method == "ping" { // which comes when it comes
		l, _, _ := p.box.take(mail{request: m.Method})
		return l.text, nil
	}
	l, err := p.wait(ctx, mail{request: m.Method})
	if l.text == nil && ctx.Err() == nil {
		m.Kind, m.Failed = Request, ""
		p.Answered(Answer{N: record.N, Message: m, Missing: true})
	}
	return l.text, err
}

// withID is a message with another id.
func withID(message, id []byte) []byte {
	return object(nil, message, func(dst []byte, name string, value []byte) []byte {
		if name == "id" {
			value = id
		}
		return append(dst, value...)
	})
}

func (p *player) write(frame []byte) error {
	timer := time.AfterFunc(p.Timeout, func() { _ = p.in.Close() }) // which ends the write
	_, err := p.in.Write(frame)
	switch {
	case !timer.Stop():
		return ErrNotTaken
	case err != nil:
		return ErrServerEnded
	}
	return nil
}

// hear waits for the answers that the server has given here.
func (p *player) hear(ctx context.Context, record *Record) error {
	messages, texts := record.All()
	for i, m := range messages {
		if m.Kind != Response || m.Of == 0 || !p.box.expected(string(m.ID)) {
			continue
		}
		if err := p.compare(ctx, record, m, texts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) compare(ctx context.Context, record *Record, m Message, old []byte) error {
	now, err := p.wait(ctx, mail{id: string(m.ID)})
	answer := Answer{N: record.N, Message: m, Missing: now.text == nil}
	switch {
	case answer.Missing:
	case old != nil && now.sha256 == "":
		answer.Changes = Compare(old, now.text, p.Ignore...)
	case record.SHA256 != now.sha256: // too large to be compared
		answer.Changes = []jsondiff.Change{{Path: "(frame)", Old: told(record.Size, record.SHA256), New: told(now.size, now.sha256)}}
	}
	if ctx.Err() == nil {
		p.Answered(answer)
	}
	return err
}

// told is what there is to say of a frame that is not compared.
func told(size int64, sha256 string) string {
	return strings.TrimSpace(fmt.Sprintf("%d bytes %s", size, sha256))
}

// wait waits for mail. There is no text if none comes in time.
func (p *player) wait(ctx context.Context, m mail) (letter, error) {
	timer := time.NewTimer(p.Timeout)
	defer timer.Stop()
	for {
		l, ended, changed := p.box.take(m)
		switch {
		case l.text != nil:
			return l, nil
		case ended:
			return l, ErrServerEnded
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return l, ctx.Err()
		case <-timer.C:
			if p.missing++; p.missing == maxMissing {
				return l, ErrSilent
			}
			return l, nil
		}
	}
}
