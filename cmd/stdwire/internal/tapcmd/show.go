package tapcmd

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
)

func tapShowCommand() command.Command {
	return command.Command{
		Name:    "tap show",
		Usage:   "FILE [--method NAME] [--id ID] [--errors] [--from DURATION] [--to DURATION] [-o text|json]",
		Summary: "show the messages of a recording",
		Help: `Prints a line for each message: direction (→ from the client, ← from the server), time, id,
method and tool, size, and for an answer its latency. ! marks errors; ? marks invalid messages and
responses to no request or with its id in another notation, such as "1" for 1. json prints the lines
of the recording unchanged.

  stdwire tap show talk.jsonl --method tools/call --errors
  stdwire tap show talk.jsonl --id 7 -o json | jq .frame`,
		Make: func() (command.Grammar, command.Runner) {
			s := new(showOptions)
			return command.Grammar{Word: command.Arguments(&s.file.name), Flags: []command.Flag{
				command.FormatFlag(&s.output, "text", "json"),
				{Name: "--method", Value: "NAME",
					Help: "requests, notifications and answers of this method only",
					Set: s.filter(func(m *tap.Message, name string) bool {
						return m.Method == name
					})},
				{Name: "--id", Value: "ID",
					Help: "messages with this id only, with or without quotes",
					Set: s.filter(func(m *tap.Message, id string) bool {
						return string(m.ID) == id || strings.Trim(string(m.ID), `"`) == id
					})},
				{Name: "--errors",
					Help: "only errors and what ? marks",
					Set: s.filter(func(m *tap.Message, _ string) bool {
						return m.Failed != "" || m.Type == tap.Junk || m.Type == tap.Response &&
							(m.RequestFrame == 0 || m.RequestID != nil)
					})},
				s.timeFlag("--from", "from this time after the start on",
					func(r *tap.Record, at float64) bool { return r.Seconds >= at }),
				s.timeFlag("--to", "up to this time after the start",
					func(r *tap.Record, at float64) bool { return r.Seconds <= at }),
			}}, s.run
		},
	}
}

// showOptions are the options of stdwire tap show.
type showOptions struct {
	file     recordingFile
	output   string
	messages []func(*tap.Message) bool // all of them must match one message
	records  []func(*tap.Record) bool
}

// filter returns the Set function of a flag that filters messages.
func (s *showOptions) filter(matches func(m *tap.Message, value string) bool) func(string) error {
	return func(value string) error {
		s.messages = append(s.messages, func(m *tap.Message) bool { return matches(m, value) })
		return nil
	}
}

// timeFlag returns a flag with a time after the start as its value.
func (s *showOptions) timeFlag(name, help string,
	matches func(r *tap.Record, at float64) bool) command.Flag {
	return command.Flag{Name: name, Value: "DURATION", Help: help, Set: func(value string) error {
		d, err := time.ParseDuration(value)
		if err != nil {
			return command.Usagef("%s: %q is not a duration", name,
				value).WithHint("write 500ms, 30s, 5m or 1h")
		}
		s.records = append(s.records, func(r *tap.Record) bool { return matches(r, d.Seconds()) })
		return nil
	}}
}

func (s *showOptions) run(_ context.Context, std *term.Streams) error {
	all, shown := 0, 0
	var methods []string
	err := s.file.each(std, func(r *tap.Record, line []byte) error {
		all++
		if !s.matchesRecord(r) {
			if m := r.Method; m != "" && !slices.Contains(methods, m) && len(methods) < maxMethods {
				methods = append(methods, m)
			}
			return nil
		}
		shown++
		if s.output == "json" {
			std.Out.PrintJSON(bytes.TrimSpace(line))
		} else {
			for _, text := range tapLines(r) {
				std.Out.PrintStyled(styleOf(text), text)
				std.Out.Print("\n")
			}
		}
		if _, err := std.Out.Write(nil); err != nil { // the reader of stdout has closed it
			return &term.OutputError{Err: err}
		}
		return nil
	})
	if err == nil && all > 0 && shown == 0 {
		note := fmt.Sprintf("note: no message matches, of %d", all)
		if methods != nil {
			note += "; their methods are " + strings.Join(methods, ", ")
		}
		std.Err.Printf("%s", note)
	}
	return err
}

// maxMethods is how many methods are named if no message matches.
const maxMethods = 20

func (s *showOptions) matchesRecord(r *tap.Record) bool {
	for _, passes := range s.records {
		if !passes(r) {
			return false
		}
	}
	if len(s.messages) == 0 {
		return true
	}
	messages, _ := r.All()
	if r.Type == tap.Junk {
		messages = []tap.Message{r.Message}
	}
	for i := range messages {
		if s.matchesMessage(&messages[i]) {
			return true
		}
	}
	return false
}

func (s *showOptions) matchesMessage(m *tap.Message) bool {
	return !slices.ContainsFunc(s.messages, func(passes func(*tap.Message) bool) bool {
		return !passes(m)
	})
}
