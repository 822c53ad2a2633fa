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

// A Replay sends the frames of a recording's client to a server again.
type Replay struct {
	Timeout time.Duration // for each response, and for each write
	Ignore  []string      // names of members not to compare

	// OnComparison is called for every response in the recording, when the server's response has
	// arrived or is missing.
	OnComparison func(Comparison)
}

// A Comparison is the result of comparing a response in the recording with the server's; or a
// request of the server that the recording has a response to, and that is missing.
type Comparison struct {
	N       int64 // number of the frame in the recording
	Message Message
	Changes []jsondiff.Change // from the recording to the replay
	Missing bool              // it did not arrive in time
}

// IsSame reports whether the response arrived and is the same.
func (a *Comparison) IsSame() bool { return !a.Missing && len(a.Changes) == 0 }

// Errors of [Replay.Run].
var (
	ErrServerEnded    = errors.New("the server has ended")
	ErrTooManyMissing = errors.New("too many responses are missing")
	ErrNotReading     = errors.New("the server does not read its stdin")
)

// maxMissing is the number of missing responses after which a replay stops.
const maxMissing = 3

// Run replays a recording to a server. It writes the client's frames in order, each after the
// server's responses that precede it in the recording; before a response of the client it also
// waits for the server's request, whose id may differ, and responds to that id. Run ignores other
// messages of the server, and responds to its pings only where the recording does.
//
// Run returns when the recording, the server or ctx ends. The end of the recording is not an error.
// Other errors are those above, those of the [Reader], the error of ctx, and one about a frame that
// is truncated in the recording. Run closes in. A goroutine reads out to its end; the caller has to
// end it.
func (r *Replay) Run(ctx context.Context, recording *Reader, in io.WriteCloser,
	out io.Reader) error {
	p := &player{Replay: r, in: in, store: newMessageStore(), codecs: map[string]framing.Codec{}}
	for _, f := range framing.Formats() {
		p.codecs[f.Name] = f.Framing(nil, framing.Limits{MaxFrame: MaxFrame})
	}
	go p.store.readAll(out)
	defer in.Close()
	return p.play(ctx, recording)
}

// A player is a running replay.
type player struct {
	*Replay
	in      io.WriteCloser
	store   *messageStore
	codecs  map[string]framing.Codec // by the name of the framing
	missing int
}

func (p *player) play(ctx context.Context, recording *Reader) error {
	for {
		record, _, err := recording.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case record.Type == Start && record.Redacted:
			return errors.New("the recording is redacted: it lacks the values to send")
		case record.From == FromClient:
			err = p.sendFrame(ctx, record)
		case record.From == FromServer:
			err = p.awaitResponses(ctx, record)
		}
		if err != nil {
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// sendFrame writes a frame of the client.
func (p *player) sendFrame(ctx context.Context, record *Record) error {
	payload := record.Payload()
	if record.SHA256 != "" || len(payload) == 0 {
		return fmt.Errorf("frame %d of the recording is truncated: it cannot be replayed", record.N)
	}
	if record.Partial {
		return nil
	}
	messages, texts := record.All()
	for i, m := range messages {
		switch {
		case m.Type == Request:
			p.store.expect(string(m.ID))
		case m.Type == Response && m.RequestFrame != 0 && texts[i] != nil &&
			record.Type == Response:
			id, err := p.awaitRequest(ctx, record, m)
			if id == nil || err != nil {
				return err
			}
			payload = withMember(texts[i], "id", id)
		}
	}
	if record.Type == Junk && record.framing() == newline {
		// unchanged: it may be part of a header block
		return p.write(append(bytes.Clone(payload), '\n'))
	}
	frame, err := p.codecs[record.framing()].AppendFrame(nil, payload)
	if err != nil {
		return fmt.Errorf("frame %d of the recording cannot be replayed: %w", record.N, err)
	}
	return p.write(frame)
}

// awaitRequest waits for the server's request that the client responded to, and returns its id, or
// nil if it does not arrive.
func (p *player) awaitRequest(ctx context.Context, record *Record, m Message) ([]byte, error) {
	if m.Method == "ping" { // at any time
		message, _, _ := p.store.take(messageKey{request: m.Method})
		return message.text, nil
	}
	message, err := p.await(ctx, messageKey{request: m.Method})
	if message.text == nil && ctx.Err() == nil {
		m.Type, m.Failed = Request, ""
		p.OnComparison(Comparison{N: record.N, Message: m, Missing: true})
	}
	return message.text, err
}

// withMember returns an object with another value of a member that it has.
func withMember(object []byte, name string, value []byte) []byte {
	return mapObject(nil, object, func(dst []byte, member string, old []byte) []byte {
		if member == name {
			return append(dst, value...)
		}
		return append(dst, old...)
	})
}

func (p *player) write(frame []byte) error {
	timer := time.AfterFunc(p.Timeout, func() { _ = p.in.Close() }) // ends the write
	_, err := p.in.Write(frame)
	switch {
	case !timer.Stop():
		return ErrNotReading
	case err != nil:
		return ErrServerEnded
	}
	return nil
}

// awaitResponses waits for the responses in a frame of the server, and compares them.
func (p *player) awaitResponses(ctx context.Context, record *Record) error {
	messages, texts := record.All()
	for i, m := range messages {
		if m.Type != Response || m.RequestFrame == 0 || !p.store.isExpected(m.requestID()) {
			continue
		}
		if err := p.compare(ctx, record, m, texts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) compare(ctx context.Context, record *Record, m Message, old []byte) error {
	now, err := p.await(ctx, messageKey{id: m.requestID()})
	c := Comparison{N: record.N, Message: m, Missing: now.text == nil}
	switch {
	case c.Missing:
	case old != nil && now.sha256 == "":
		c.Changes = Compare(old, now.text, p.Ignore...)
	case record.SHA256 != now.sha256: // truncated: compare sizes and digests
		c.Changes = []jsondiff.Change{
			{Path: "(frame)", Old: summary(record.Size, record.SHA256),
				New: summary(now.size, now.sha256)}}
	}
	if ctx.Err() == nil {
		p.OnComparison(c)
	}
	return err
}

// summary describes a truncated frame.
func summary(size int64, sha256 string) string {
	return strings.TrimSpace(fmt.Sprintf("%d bytes %s", size, sha256))
}

// await waits for a message. Its text is nil if it does not arrive in time.
func (p *player) await(ctx context.Context, key messageKey) (storedMessage, error) {
	timer := time.NewTimer(p.Timeout)
	defer timer.Stop()
	for {
		message, ended, changed := p.store.take(key)
		switch {
		case message.text != nil:
			return message, nil
		case ended:
			return message, ErrServerEnded
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return message, ctx.Err()
		case <-timer.C:
			if p.missing++; p.missing == maxMissing {
				return message, ErrTooManyMissing
			}
			return message, nil
		}
	}
}
