// Package turn lets the work on large messages, their decoding and encoding, run for about as many
// at a time as there are processors. So the messages of one peer do not all take memory at once.
// The work of each principal is done in the order in which it was due, and principals have their
// turns one after the other. Handlers never run in a turn: however long they wait, they hold nobody
// up.
//
// Where each message comes by itself, as in package streamable, a [Message] has the turns: the work
// of a principal on those that have begun comes first, and about as many bodies are read ahead as
// that work needs.
package turn

import (
	"context"
	"runtime"
	"time"

	"github.com/stdwire/stdwire/internal/contextkey"
)

// large is the size in bytes above which the work on a message has a turn. The memory of smaller
// ones is little, and waiting would cost more than it saves.
const large = 256 << 10

// patience is how long work waits for its turn, and a reader for the work. It ends only if methods
// of the application that decode or encode its values block.
const patience = time.Second

// A Line is where work waits for its turn, and large bodies wait until they are read. The zero Line
// is ready to use.
type Line struct{ work, bodies queue }

// Key is the key of the *Line or the *Message in the context of a message.
type Key struct{}

// Within returns ctx with a message of a principal that is no [contextkey.Principal].
func Within(ctx context.Context, l *Line, principal string) context.Context {
	return &messageContext{ctx, l.Message(principal)}
}

type messageContext struct {
	context.Context
	message Message
}

func (c *messageContext) Value(key any) any {
	if key == (Key{}) {
		return &c.message
	}
	return c.Context.Value(key)
}

// Do calls work, on size bytes of the message whose handler has ctx. Large work has its turn in the
// line of ctx.
func Do(ctx context.Context, size int, work func()) {
	if size > large {
		switch at := ctx.Value(Key{}).(type) {
		case *Message:
			at.Do(size, work)
			return
		case *Line:
			principal, _ := ctx.Value(contextkey.Principal{}).(string)
			m := at.Message(principal)
			m.Do(size, work)
			return
		}
	}
	work()
}

// Settle is for a reader that has passed on a message of size bytes. If that is large, Settle waits
// until all work that is due now has had its turn, or ctx ends. So what would be read meanwhile
// stays with its sender.
func (l *Line) Settle(ctx context.Context, size int) {
	if size <= large {
		return
	}
	runtime.Gosched() // so that the message's own work is due
	l.work.settle(ctx)
}
