// Package tapcmd implements stdwire tap, which records the messages between a client and a server,
// and shows, counts, replays, serves and converts recordings.
package tapcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/relay"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/near"
)

// TapCommand returns the command stdwire tap.
func TapCommand() command.Command {
	return command.Command{
		Name: "tap", Usage: "[-o FILE] [--live] [--redact] [--max-size SIZE] -- SERVER-COMMAND…",
		Summary: "record the traffic between a client and a server",
		Help: `Write stdwire tap in front of a server's command, wherever a client has it. It passes on every byte
at once, in both directions, and also signals, the end of input, the server's stderr and its exit
code (128 plus the number of a signal). A server that goes on gets SIGTERM 2.25 seconds after the end
of input and SIGKILL 0.65 seconds later, or SIGKILL a second after SIGTERM, as from serve.

-o writes every frame to a file of JSON lines that only you can read, with its time, size, method
and id, and for an answer its request and latency. Messages never wait for the file; frames that
were lost because it was too slow are counted. An existing file is not overwritten: a number is
appended to the name. --live prints a line for each frame on stderr.

--redact makes a recording safe to share: the values of _meta, headers, arguments and answers of the
client, and text that is not a message, are replaced with their type, length and a digest. Content
that the server returns is not replaced.

  stdwire tap -o talk.jsonl -- npx -y @modelcontextprotocol/server-memory
  stdwire call fs_list --server-logs -- stdwire tap --live -- stdwire serve

Commands for a recording:

` +
			tapCommands().List(),
		Subcommands: tapCommands(),
		Make: func() (command.Grammar, command.Runner) {
			t := new(recordOptions)
			rest := func(words []string) { t.rest = words }
			return command.Grammar{Rest: rest, Subcommands: tapCommands(),
				Command: func(words []string) { t.words = words },
				Flags:   t.flags()}, t.run
		},
	}
}

// tapCommands returns the commands that begin with "tap".
func tapCommands() command.Subcommands {
	return command.Subcommands{tapShowCommand(), tapStatsCommand(), tapReplayCommand(),
		tapMockCommand(), tapTracesCommand()}
}

// subcommandNames are the names of tapCommands, in their order.
var subcommandNames = [...]string{"show", "stats", "replay", "mock", "traces"}

// byteSize returns a flag with a number of bytes as its value.
func byteSize(target *int64, name, help string) command.Flag {
	units := []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
		{"", 1}}
	return command.Flag{Name: name, Value: "SIZE", Help: help + " (default 1GiB)",
		Set: func(value string) error {
			for _, unit := range units {
				digits, ok := strings.CutSuffix(value, unit.suffix)
				if !ok {
					continue
				}
				const most = 1 << 50
				n, err := strconv.ParseInt(digits, 10, 64)
				if err != nil || n <= 0 || n > most/unit.bytes {
					break
				}
				*target = n * unit.bytes
				return nil
			}
			return command.Usagef("%s: %q is not a size", name,
				value).WithHint("write 500MB, 64MiB or 2GiB")
		}}
}

// recordOptions are the options of stdwire tap.
type recordOptions struct {
	rest    []string // a subcommand and its arguments
	words   []string // the command of the server
	file    string
	live    bool
	redact  bool
	maxSize int64 // 0 if not given
}

// defaultMaxSize is the maximum size of a recording in bytes.
const defaultMaxSize = 1 << 30

func (t *recordOptions) flags() []command.Flag {
	return []command.Flag{
		command.FileFlag(&t.file, "-o", "record in this file"),
		command.SwitchFlag(&t.live, "--live", "show a line for each frame on stderr"),
		command.SwitchFlag(&t.redact, "--redact", "replace values with digests"),
		byteSize(&t.maxSize, "--max-size", "maximum size of the recording"),
	}
}

// given returns the name of a given flag, or "".
func (t *recordOptions) given() string {
	switch {
	case t.file != "":
		return "-o"
	case t.live:
		return "--live"
	case t.redact:
		return "--redact"
	case t.maxSize != 0:
		return "--max-size"
	}
	return ""
}

func (t *recordOptions) run(ctx context.Context, std *term.Streams) error {
	switch {
	case t.rest != nil && t.given() == "":
		return t.runSubcommand(ctx, std)
	case t.rest != nil && slices.Contains(subcommandNames[:], t.rest[0]):
		return command.Usagef("unexpected argument %q", t.rest[0]).WithHint(t.given() +
			" is for a new recording; stdwire tap " + t.rest[0] + " -h lists other options")
	case t.rest != nil:
		return command.Usagef("unexpected argument %q", t.rest[0])
	case t.words == nil:
		return command.Usagef("which server?").WithHint(
			"its command follows --: stdwire tap -o talk.jsonl -- COMMAND…")
	case t.file == "" && !t.live:
		return command.Usagef("add -o FILE or --live: without them there is nothing to do")
	case t.file == "" && t.maxSize != 0:
		return command.Usagef("--max-size is for a recording: add -o FILE")
	case t.file == "" && t.redact:
		return command.Usagef("--redact is for a recording: add -o FILE")
	}
	o := tap.Options{MaxSize: cmp.Or(t.maxSize, defaultMaxSize), Redact: t.redact,
		Command: t.words, Warn: func(err error) {
			if errors.Is(err, tap.ErrFull) {
				err = fmt.Errorf("%s has reached its --max-size", t.file)
			}
			std.Err.Printf("stdwire: tap: the recording ends here, the traffic continues: %v", err)
		}}
	if t.file != "" {
		file, err := createRecording(t.file)
		if err != nil {
			return command.Usagef("-o: %v", err)
		}
		defer file.Close()
		if file.Name() != t.file {
			std.Err.Printf("stdwire: tap: %s exists: recording in %s", t.file, file.Name())
		}
		o.To = file
	}
	read := func() bool { return true } // whether stderr is being read
	if t.live {
		view := newLiveView(std.Err)
		o.Show, read = view.show, view.close
	}
	recorder := o.Start()
	r := relay.Relay{Words: t.words, Up: recorder.Client.Copy, Down: recorder.Server.Copy}
	status, err := r.Run(ctx, std)
	const timeout = 5 * time.Second
	complete := recorder.Close(int(status), timeout)
	if read() && !complete {
		std.Err.Printf("stdwire: tap: the end of the recording is missing: writing it took longer than %v",
			timeout)
	}
	if err != nil {
		return err
	}
	return status
}

// runSubcommand runs a subcommand for an existing recording.
func (t *recordOptions) runSubcommand(ctx context.Context, std *term.Streams) error {
	i := slices.Index(subcommandNames[:], t.rest[0])
	if i < 0 {
		return command.Usagef("unexpected argument %q",
			t.rest[0]).WithHint(
			cmp.Or(near.DidYouMean(t.rest[0], subcommandNames[:]),
				"a server command follows --: stdwire tap -o talk.jsonl -- COMMAND…"))
	}
	return tapCommands()[i].Run(ctx, t.rest[1:], std)
}

// createRecording creates a file of that name, with a number appended if it exists. A file that is
// not regular, such as a pipe, is written to.
func createRecording(name string) (*os.File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return os.OpenFile(name, os.O_WRONLY, 0)
	}
	const most = 1000
	extension := filepath.Ext(name)
	for i, numbered := 2, name; ; i++ {
		file, err := os.OpenFile(numbered, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) || i > most {
			return file, err
		}
		numbered = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, extension), i, extension)
	}
}
