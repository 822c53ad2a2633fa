package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/relay"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/framing"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
)

// BridgeCommand returns the command stdwire bridge.
func BridgeCommand() command.Command {
	return command.Command{
		Name: "bridge", Usage: "[--framing " + strings.Join(framingNames(), "|") + " | --http ADDR] [FLAG]… -- SERVER-COMMAND… | URL [--header NAME:VALUE]… [--http ADDR] [FLAG]…",
		Summary: "connect a client to a server with another framing or transport",
		Help: `Without --http and --url it converts framings. In MCP a message is a line; in the Language
Server Protocol it has a Content-Length. The client is answered in its own framing; the server
gets the other one, or that of --framing. White space is removed from a message that must become
one line. Output of the server that is not a message goes to stderr. A server that goes on gets
SIGTERM 2.25 seconds after the end of input and SIGKILL 0.65 seconds later, or SIGKILL a second
after SIGTERM, as from serve.

  stdwire bridge -- ./server-with-content-length
  stdwire bridge --framing newline -- npx -y @modelcontextprotocol/server-memory

--http serves a command over Streamable HTTP at /mcp; a URL is that of a server to serve on stdin
and stdout; with both, a server at a URL is served at another URL. The bridge speaks every revision
on both sides. It first starts the server, or connects to it, and ends if that fails. A server that
ends later is started again, and calls wait for it. Over HTTP all clients share one process, which
has the environment and the stderr of the bridge. Definitions, results, progress, cancellation,
changes and the server's questions are forwarded unchanged.

  stdwire bridge --http 127.0.0.1:8080 -- npx -y some-server
  stdwire bridge https://example.com/mcp --token-file token

The client of the server is stdwire, which declares every capability except roots. A request that
the actual client cannot answer gets an error. A server of a revision before 2026-07-28 does not say
to which call a question belongs; with several calls in flight its question is refused. The bridge
waits for tasks itself. It does not forward log messages, extensions and experimental capabilities.`,
		Make: func() (command.Grammar, command.Runner) {
			b := &framingBridge{known: make(chan struct{})}
			x := new(transportBridge)
			run := func(ctx context.Context, std *term.Streams) error {
				if err := x.check(); err != nil {
					return err
				}
				if !x.isEnabled() {
					return b.run(ctx, std)
				}
				if b.framing != "" {
					return command.Usagef(
						"--framing is for a client and a server that are both on stdio")
				}
				return x.run(ctx, std)
			}
			return command.Grammar{Command: func(words []string) {
				b.words, x.words = words, words
			}, Address: x.address, Flags: append([]command.Flag{
				command.ChoiceFlag(&b.framing, "--framing",
					"how the server frames messages (default: as the client does not)",
					framingNames()...),
			}, x.flags()...)}, run
		},
	}
}

// A framingBridge connects a client and a server that use different framings.
type framingBridge struct {
	words   []string
	framing string // of the server; "" means the one that the client does not use

	std    *term.Streams
	client framing.Codec // reads what the client writes and answers in the same framing
	server framing.Codec // only writes
	framed bool          // the server has sent a frame; used by serverToClient only

	once  sync.Once
	known chan struct{} // closed once the client's framing is known or the client is gone
	lines bool          // both use lines; valid once known is closed
}

// framingNames returns the names of the framings that a client and a server may use.
func framingNames() []string {
	var names []string
	for _, f := range framing.Formats() {
		names = append(names, f.Name)
	}
	return names
}

func (b *framingBridge) run(ctx context.Context, std *term.Streams) error {
	b.std, b.client = std, framing.Auto(std.In, framing.Limits{})
	r := relay.Relay{Words: b.words, Up: b.clientToServer, Down: b.serverToClient}
	status, err := r.Run(ctx, std)
	if err != nil {
		return err
	}
	return status
}

// detectFraming detects the client's framing from its first message.
func (b *framingBridge) detectFraming() {
	b.once.Do(func() {
		client := framing.FormatOf(b.client).Name
		formats := framing.Formats()
		i := slices.IndexFunc(formats, func(f framing.Format) bool {
			return f.Name == b.framing || b.framing == "" && f.Name != client
		})
		b.server = formats[i].Framing(nil, framing.Limits{})
		b.lines = client == formats[0].Name && i == 0
		close(b.known)
	})
}

// clientToServer copies messages of the client to the server.
func (b *framingBridge) clientToServer(to io.Writer, _ io.Reader) error {
	defer b.detectFraming()
	return b.pass("client", to, b.client, func(dst, message []byte) ([]byte, error) {
		b.detectFraming()
		return appendMessage(dst, b.server, message)
	})
}

// serverToClient copies messages of the server to the client.
func (b *framingBridge) serverToClient(to io.Writer, from io.Reader) error {
	return b.pass("server", to, framing.Resync(b.isMessage, nil)(from, framing.Limits{}),
		func(dst, message []byte) ([]byte, error) {
			<-b.known
			return appendMessage(dst, b.client, message)
		})
}

// isMessage reports whether a frame or a line of the server is a message. It prints one that is
// not. Once the server has sent a frame, a line is only its log, which may be JSON too.
func (b *framingBridge) isMessage(text []byte, framed bool) bool {
	<-b.known
	if b.lines && !framed {
		return true // a client of lines finds its messages itself
	}
	i := jsonscan.Space(text, 0)
	if i < len(text) && (text[i] == '[' || text[i] == '{') && (framed || !b.framed) &&
		json.Valid(text) {
		b.framed = framed
		return true
	}
	b.std.Err.Printf("%s", printable.Line(string(text)))
	return false
}

// pass reads messages, frames them with reframe and writes them. It reports and skips a message
// that cannot be framed.
func (b *framingBridge) pass(who string, to io.Writer, from framing.Codec,
	reframe func(dst, message []byte) ([]byte, error)) error {
	var message, frame []byte
	for {
		var err error
		if message, err = from.ReadFrame(message); err == nil {
			frame, err = reframe(frame[:0], message)
		}
		switch _, skip := errors.AsType[*framing.FrameError](err); {
		case err == io.EOF:
			return nil
		case skip:
			b.std.Err.Printf("stdwire: bridge: a message of the %s is skipped: %v", who, err)
			continue
		case err != nil:
			if _, lost := errors.AsType[*framing.SyncError](err); lost {
				b.std.Err.Printf("stdwire: bridge: further messages of the %s cannot be forwarded: %v",
					who, err)
			}
			return err
		}
		if _, err := to.Write(frame); err != nil {
			return err
		}
	}
}

// appendMessage appends a message in a framing. If the framing does not allow line breaks, it
// removes white space.
func appendMessage(dst []byte, codec framing.Codec, message []byte) ([]byte, error) {
	framed, err := codec.AppendFrame(dst, message)
	if !errors.Is(err, framing.ErrLineBreak) {
		return framed, err
	}
	var compacted bytes.Buffer
	if json.Compact(&compacted, message) != nil {
		return framed, err
	}
	return codec.AppendFrame(dst, compacted.Bytes())
}
