package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/guard"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/backoff"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/quota"
	"github.com/stdwire/stdwire/internal/wake"
	"github.com/stdwire/stdwire/rpc/mcp"
)

const (
	maxQuestions     = 256       // calls that a persistent hook is asked about at a time
	maxQuestionBytes = 256 << 20 // of their messages
	// endGrace is how long the process may take to end after its stdin has ended.
	endGrace = 250 * time.Millisecond
)

// A persistent hook is one process that is asked about all calls. Each line of its stdin is a
// message with an id, and each line of its stdout an answer with the id of its message, in any
// order. A process that ends is started again after the pause of package backoff. The calls that it
// was asked about are refused; those that waited for it wait for the next one, if it starts in time
// for them.
type persistent struct {
	command   guard.Command
	log       *slog.Logger
	maxAnswer int         // bytes
	bytes     *quota.Pool // of the messages of all questions, by principal
	pause     func(failures int) time.Duration

	queued chan struct{} // capacity 1: the queue is not empty

	mu      sync.Mutex
	lastID  int64                   // of all processes
	queue   []*question             // that have not been sent
	sent    map[int64]*question     // to the process
	heard   time.Time               // when it has last answered, or started
	strays  int                     // its lines that are no answers
	restart context.CancelCauseFunc // ends it; nil before the first one
	down    error                   // why no process runs; nil while one does or starts
	startAt time.Time               // of the next one; valid if down is set
}

// A question is a message to the process, until it is answered or its context ends.
type question struct {
	id       int64
	line     []byte
	deadline time.Time
	sentAt   time.Time
	answered chan answer // capacity 1
}

type answer struct {
	text []byte
	err  error
}

// The reasons why a process is ended.
var (
	errSilent       = errors.New("it answered nothing in time")
	errClosedStdout = errors.New("it closed its stdout")
	errClosedStdin  = errors.New("it closed its stdin")
	errEnding       = errors.New("the gateway is ending")
)

// newPersistent returns a hook that asks a process, which its caller runs.
func newPersistent(words []string, log *slog.Logger) (*hook, *persistent) {
	p := &persistent{command: commandOf(words), log: log, maxAnswer: maxAnswer,
		bytes: quota.NewPool(maxQuestionBytes), pause: backoff.Pause,
		queued: make(chan struct{}, 1),
		sent:   map[int64]*question{}}
	return &hook{name: p.command.Name, log: log, timeout: timeout,
		running: quota.NewPool(maxQuestions), ask: p.ask}, p
}

// ask is the [asker] of the hook.
func (p *persistent) ask(ctx context.Context, m *message) ([]byte, error) {
	q := &question{id: p.newID(), answered: make(chan answer, 1)}
	q.deadline, _ = ctx.Deadline()
	text, err := mcp.Marshal(struct {
		ID int64 `json:"id"`
		*message
	}{q.id, m})
	if err != nil {
		return nil, err
	}
	q.line = append(text, '\n')
	size := int64(len(q.line))
	switch err := p.bytes.Wait(ctx, m.Principal, size); {
	case errors.Is(err, quota.ErrNever):
		return nil, fmt.Errorf("a message of %d bytes is over the share of one caller", size)
	case err != nil:
		return nil, err
	}
	defer p.bytes.Give(m.Principal, size)
	p.enqueue(q)
	select {
	case a := <-q.answered:
		return a.text, a.err
	case <-ctx.Done():
		p.withdraw(q, ctx.Err())
		return nil, ctx.Err()
	}
}

func (p *persistent) newID() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastID++
	return p.lastID
}

// enqueue adds a question to the queue, unless no process starts in time for it.
func (p *persistent) enqueue(q *question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isTooLate(q) {
		q.answered <- p.unavailable()
		return
	}
	p.queue = append(p.queue, q)
	wake.Up(p.queued)
}

// isTooLate reports whether the next process starts too late for a question. mu must be held.
func (p *persistent) isTooLate(q *question) bool {
	return p.down == errEnding || p.down != nil && !p.startAt.Before(q.deadline)
}

// unavailable is the answer to a question while no process runs. mu must be held.
func (p *persistent) unavailable() answer {
	if p.down == errEnding {
		return answer{err: errEnding}
	}
	return answer{err: fmt.Errorf("it has ended (%w) and starts again in %v", p.down,
		max(0, time.Until(p.startAt)).Round(time.Second))}
}

// withdraw removes a question that nobody waits for any longer. A process that has answered nothing
// since it got a question whose time is over is restarted, because it would never answer.
func (p *persistent) withdraw(q *question, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = slices.DeleteFunc(p.queue, func(other *question) bool { return other == q })
	if p.sent[q.id] != q {
		return
	}
	delete(p.sent, q.id)
	if errors.Is(why, context.DeadlineExceeded) && !p.heard.After(q.sentAt) {
		p.restart(errSilent)
	}
}

// run starts the process, and starts it again when it has ended, until ctx ends.
func (p *persistent) run(ctx context.Context) {
	failures := 0
	for {
		began := time.Now()
		err := p.runProcess(ctx)
		if time.Since(began) > backoff.Worked {
			failures = 0
		}
		failures++
		pause := p.pause(failures)
		if ctx.Err() != nil {
			p.end(errEnding, time.Time{})
			return
		}
		refused, strays := p.end(err, time.Now().Add(pause))
		p.log.Warn("a hook has ended; it is started again", slog.String("command", p.command.Name),
			slog.Any("error", err), slog.Duration("in", pause.Round(time.Millisecond)),
			slog.Int("calls_refused", refused), slog.Int("lines_without_call", strays))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		p.mu.Lock()
		p.down = nil
		p.mu.Unlock()
	}
}

// end refuses the questions that were sent to a process that has ended, and those that cannot wait
// for the next one.
func (p *persistent) end(why error, startAt time.Time) (refused, strays int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down, p.startAt = why, startAt
	for _, q := range p.sent {
		q.answered <- answer{err: fmt.Errorf("it ended before it answered: %w", why)}
	}
	refused = len(p.sent)
	clear(p.sent)
	p.queue = slices.DeleteFunc(p.queue, func(q *question) bool {
		late := p.isTooLate(q)
		if late {
			q.answered <- p.unavailable()
			refused++
		}
		return late
	})
	strays, p.strays = p.strays, 0
	return refused, strays
}

// runProcess runs a process until it ends, closes its stdout or answers nothing, or until ctx ends,
// and returns the reason. None of its descendants is left then.
func (p *persistent) runProcess(ctx context.Context) error {
	process, err := guard.Start(ctx, p.command)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p.mu.Lock()
	p.heard, p.restart = time.Now(), stop
	p.mu.Unlock()
	var piping sync.WaitGroup
	read := make(chan struct{})
	piping.Go(func() {
		defer close(read)
		p.read(process.Stdout())
		stop(errClosedStdout)
	})
	piping.Go(func() { logStderrLines(process.Stderr(), p.command.Name, p.log) })
	piping.Go(func() {
		p.write(ctx, process.Stdin())
		if !within(endGrace, read) { // the end of the process closes both
			stop(errClosedStdin)
		}
	})
	select {
	case <-process.Done():
	case <-ctx.Done():
	}
	if context.Cause(ctx) != errClosedStdout { // which the end of the process closes, too
		_ = process.Stdin().Close()
	}
	ended := within(endGrace, process.Done())
	if ended {
		within(endGrace, read) // of what it has written at last
	} else {
		process.Kill()
		within(endGrace, process.Done())
	}
	stop(nil)
	_, _, _ = process.Stdin().Close(), process.Stdout().Close(), process.Stderr().Close()
	piping.Wait()
	if why := context.Cause(ctx); !ended || why == errSilent || why == errClosedStdin {
		return why
	}
	return errors.New(process.Exit().String())
}

// within waits for done, at most for the limit, and reports whether it is closed.
func within(limit time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// write sends the questions of the queue until ctx ends or the process no longer reads.
func (p *persistent) write(ctx context.Context, stdin io.Writer) {
	for {
		q := p.next(ctx)
		if q == nil {
			return
		}
		if n, err := stdin.Write(q.line); n == 0 && err != nil {
			p.unsend(q)
			return
		} else if err != nil {
			return
		}
	}
}

// next waits for a question and takes it from the queue. It returns nil if ctx ends.
func (p *persistent) next(ctx context.Context) *question {
	for {
		if q := p.take(ctx); q != nil {
			return q
		}
		select {
		case <-p.queued:
		case <-ctx.Done():
			wake.Up(p.queued) // the writer of the next process
			return nil
		}
	}
}

func (p *persistent) take(ctx context.Context) *question {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 || ctx.Err() != nil {
		return nil
	}
	q := p.queue[0]
	p.queue = slices.Delete(p.queue, 0, 1)
	q.sentAt = time.Now()
	p.sent[q.id] = q
	return q
}

// unsend puts back a question of which the process has got nothing.
func (p *persistent) unsend(q *question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sent[q.id] == q {
		delete(p.sent, q.id)
		p.queue = slices.Insert(p.queue, 0, q)
	}
}

// read reads answers until stdout ends.
func (p *persistent) read(stdout io.Reader) {
	lines := framing.Newline(stdout, framing.Limits{MaxFrame: p.maxAnswer})
	for {
		line, err := lines.ReadFrame(nil) // memory that the call keeps
		if long, ok := errors.AsType[*framing.FrameError](err); ok {
			p.stray(fmt.Sprintf("it has %d bytes; at most %d are read", long.Size, long.Limit))
			continue
		}
		if err != nil {
			return
		}
		p.receive(line)
	}
}

// receive passes a line of stdout to the call that waits for it.
func (p *persistent) receive(line []byte) {
	if jsonscan.Valid(line) != nil || line[jsonscan.Space(line, 0)] != '{' {
		p.stray("it is not a JSON object")
		return
	}
	line = line[jsonscan.Space(line, 0):]
	ids := 0
	for token := range jsonscan.Members(line) {
		if jsonscan.KeyIs(token, "id") {
			ids++
		}
	}
	id, ok := jsonscan.Int(jsonscan.Member(line, "id"), 64)
	if ids != 1 || !ok {
		p.stray("it has no id, or more than one")
		return
	}
	p.mu.Lock()
	q := p.sent[id]
	if q != nil {
		delete(p.sent, id)
		p.heard = time.Now()
		q.answered <- answer{text: jsonscan.Without(line, "id")}
	}
	p.mu.Unlock()
	if q == nil {
		p.stray("no call waits for its id: it is wrong, has been answered or took too long")
	}
}

// stray logs the first line of a process that is no answer, and counts the others.
func (p *persistent) stray(why string) {
	p.mu.Lock()
	p.strays++
	first := p.strays == 1
	p.mu.Unlock()
	if first {
		p.log.Warn("a hook wrote a line that belongs to no call; more are not logged",
			slog.String("command", p.command.Name), slog.String("error", why))
	}
}

const stderrLines = 20 // of a process that are logged per second

// logStderrLines logs what a process writes to stderr, until it ends: lines, the first of each
// second.
func logStderrLines(stderr *os.File, name string, log *slog.Logger) {
	lines := framing.Newline(stderr, framing.Limits{MaxFrame: maxStderr})
	var second time.Time
	logged, dropped := 0, 0
	for {
		line, err := lines.ReadFrame(nil)
		if _, long := errors.AsType[*framing.FrameError](err); err != nil && !long {
			return
		}
		if now := time.Now(); now.Sub(second) >= time.Second {
			second, logged = now, 0
			if dropped > 0 {
				log.Info("lines of a hook's stderr were not logged",
					slog.String("command", name), slog.Int("lines", dropped))
			}
			dropped = 0
		}
		if err != nil || logged == stderrLines {
			dropped++
			continue
		}
		logged++
		logStderr(log, name, string(line))
	}
}
