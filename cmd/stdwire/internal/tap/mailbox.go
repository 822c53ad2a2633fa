package tap

import (
	"io"
	"slices"
	"sync"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// A mailbox keeps what a server has said and somebody is going to ask for, so that the server never waits for that.
type mailbox struct {
	mu       sync.Mutex
	waited   map[string]bool     // ids of requests without an answer
	answers  map[string]letter   // by their ids
	requests map[string][]letter // the server's own, by their methods
	size     int                 // what all letters cost
	ended    bool                // there is nothing more to come
	changed  chan struct{}       // closed at the next change
}

// A letter is an answer, or of a request its id.
type letter struct {
	text   []byte // at most MaxFrame bytes
	size   int64
	sha256 string // if it is cut
}

// cost is about the memory that a letter takes.
func (l letter) cost() int {
	const overhead = 200
	return len(l.text) + overhead
}

// mail is what to look for: the answer to a request, or a request.
type mail struct{ id, request string }

// maxMail is how much a mailbox holds. What comes when it is full is thrown away, and found to be missing.
const maxMail = 8 * MaxFrame

func newMailbox() *mailbox {
	return &mailbox{waited: map[string]bool{}, answers: map[string]letter{}, requests: map[string][]letter{}, changed: make(chan struct{})}
}

// fill takes what comes until the stream ends.
func (b *mailbox) fill(out io.Reader) {
	frames := splitter{limit: MaxFrame, emit: b.frame}
	buf := make([]byte, 64<<10)
	for {
		n, err := out.Read(buf)
		frames.write(buf[:n])
		if err != nil {
			break
		}
	}
	frames.end()
	b.update(func() { b.ended = true })
}

func (b *mailbox) frame(p piece) {
	if p.sha256 == "" && isBatch(p.payload) {
		for element := range jsonscan.Elements(p.payload) {
			b.put(letter{text: slices.Clone(element), size: int64(len(element))})
		}
		return
	}
	b.put(letter{slices.Clone(p.payload), p.size, p.sha256})
}

func (b *mailbox) put(l letter) {
	m := scan(l.text, l.sha256 == "")
	id := string(m.ID)
	b.update(func() {
		switch {
		case b.size+l.cost() > maxMail:
		case m.Kind == Response && b.waited[id]:
			delete(b.waited, id)
			b.answers[id] = l
			b.size += l.cost()
		case m.Kind == Request:
			l.text = []byte(id)
			b.requests[m.Method] = append(b.requests[m.Method], l)
			b.size += l.cost()
		}
	})
}

func (b *mailbox) update(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

// expect has the answer to a request kept.
func (b *mailbox) expect(id string) { b.update(func() { b.waited[id] = true }) }

// expected reports whether an answer may come or has come.
func (b *mailbox) expected(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, there := b.answers[id]
	return there || b.waited[id]
}

// take takes mail out of the box. If there is none yet, changed is closed when there may be some, unless the stream has ended.
func (b *mailbox) take(m mail) (l letter, ended bool, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	there := false
	if ids := b.requests[m.request]; m.request != "" && len(ids) > 0 {
		l, there, b.requests[m.request] = ids[0], true, ids[1:]
	} else if m.request == "" {
		l, there = b.answers[m.id]
		delete(b.answers, m.id)
	}
	if there {
		b.size -= l.cost()
	}
	return l, b.ended, b.changed
}
