package main

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/tap"
)

func tapShowCommand() command {
	return command{
		name: "tap show", usage: "FILE [--method NAME] [--id ID] [--errors] [--from DURATION] [--to DURATION] [-o text|json]",
		summary: "show what is in a recording",
		help: `A line for each message, with who said it (→ the client, ← the server), when, its id, what it is about, its size, and for an answer how long it took. A ! stands before errors, a ? before what is no message or answers nothing. As json, the lines of the recording are printed as they are.

  stdwire tap show talk.jsonl --method tools/call --errors
  stdwire tap show talk.jsonl --id 7 -o json | jq .frame`,
		make: func() (grammar, runner) {
			s := new(showing)
			return grammar{word: s.file.word, flags: []flag{
				format(&s.output, "text", "json"),
				{name: "--method", value: "NAME", help: "requests, notifications and answers of this method only", set: s.filter(func(m *tap.Message, name string) bool { return m.Method == name })},
				{name: "--id", value: "ID", help: "messages with this id only, with or without quotes", set: s.filter(func(m *tap.Message, id string) bool {
					return string(m.ID) == id || strings.Trim(string(m.ID), `"`) == id
				})},
				{name: "--errors", help: "errors, what is no message, and what answers nothing only", set: s.filter(func(m *tap.Message, _ string) bool {
					return m.Failed != "" || m.Kind == tap.Junk || m.Kind == tap.Response && m.RequestFrame == 0
				})},
				s.moment("--from", "from this time after the start on", func(r *tap.Record, at float64) bool { return r.Seconds >= at }),
				s.moment("--to", "up to this time after the start", func(r *tap.Record, at float64) bool { return r.Seconds <= at }),
			}}, s.run
		},
	}
}

// A showing is what the command line says of one.
type showing struct {
	file     recordingFile
	output   string
	messages []func(*tap.Message) bool // all of which one message has to pass
	records  []func(*tap.Record) bool
}

// filter makes what a flag sets of what a message has to be.
func (s *showing) filter(matches func(m *tap.Message, value string) bool) func(string) error {
	return func(value string) error {
		s.messages = append(s.messages, func(m *tap.Message) bool { return matches(m, value) })
		return nil
	}
}

// moment is a flag whose value is a time after the start.
func (s *showing) moment(name, help string, matches func(r *tap.Record, at float64) bool) flag {
	return flag{name: name, value: "DURATION", help: help, set: func(value string) error {
		d, err := time.ParseDuration(value)
		if err != nil {
			return usagef("%s: %q is no duration", name, value).withHint("write 500ms, 30s, 5m or 1h")
		}
		s.records = append(s.records, func(r *tap.Record) bool { return matches(r, d.Seconds()) })
		return nil
	}}
}

func (s *showing) run(_ context.Context, std *streams) error {
	return s.file.each(std, func(r *tap.Record, line []byte) error {
		if !s.wanted(r) {
			return nil
		}
		if s.output == "json" {
			std.out.json(bytes.TrimSpace(line))
		} else {
			for _, text := range tapLines(r) {
				std.out.print(text + "\n")
			}
		}
		if _, err := std.out.Write(nil); err != nil { // nobody reads any more
			return &outputError{err}
		}
		return nil
	})
}

func (s *showing) wanted(r *tap.Record) bool {
	for _, passes := range s.records {
		if !passes(r) {
			return false
		}
	}
	if len(s.messages) == 0 {
		return true
	}
	messages, _ := r.All()
	if r.Kind == tap.Junk {
		messages = []tap.Message{r.Message}
	}
	for i := range messages {
		if s.passes(&messages[i]) {
			return true
		}
	}
	return false
}

func (s *showing) passes(m *tap.Message) bool {
	for _, passes := range s.messages {
		if !passes(m) {
			return false
		}
	}
	return true
}
