package proc

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/proc/internal/ring"
	"github.com/stdwire/stdwire/dispatch"
)

var readSpec = dispatch.Spec{
	Name:    "proc.read",
	Title:   "Read from process",
	Summary: "Read what a session's process has written, and wait for it if asked to.",
	Description: "Read what a session's process has written to stdout and stderr, in the order in which it wrote it, and wait for it if asked to. " +
		"Each read continues where the last one ended. With pattern it waits until that matches, say the prompt of an interpreter, and returns the output " +
		"up to the end of the match; the rest is for the next read. A wait that runs out is not an error: it returns the output so far, with matched false. " +
		"A wait also ends when there is as much as max_bytes, and when the process ends. Only the end of the output is kept: if a process writes " +
		"faster than it is read, its oldest output is lost, and dropped says how much.",
	Type:    dispatch.Wait,
	Timeout: waitTimeout,
	Examples: []dispatch.Example{
		{Summary: "What there is now", Input: json.RawMessage(`{"session":"make-4f9a2c"}`)},
		{Summary: "Up to the next prompt",
			Input: json.RawMessage(`{"pattern":"^>>> $","wait_ms":5000}`)},
		{Summary: "All, when it has ended",
			Input: json.RawMessage(`{"until":"exit","wait_ms":60000,"max_bytes":262144}`)},
	},
}

// ReadInput are the arguments of proc.read.
type ReadInput struct {
	dispatch.Session
	Until    string `json:"until,omitempty" doc:"What to wait for; exit: the end of the process. If left out: now, or pattern if there is one." enum:"now,output,pattern,exit"`
	Pattern  string `json:"pattern,omitempty" doc:"Regular expression (RE2) to find in the unread output. ^ and $ match at the start and end of a line, and $ also at the end of the output so far." maxLength:"1024"`
	WaitMS   int    `json:"wait_ms,omitempty" doc:"How many milliseconds to wait at most, unless until is now." default:"10000" min:"0" max:"600000"`
	Cursor   *int64 `json:"cursor,omitempty" doc:"Byte offset in all of the output to read from. Where the last read ended if left out." min:"0"`
	MaxBytes int    `json:"max_bytes,omitempty" doc:"How many bytes to return at most." default:"65536" min:"4" max:"262144"`
}

// ReadOutput is the data of proc.read.
type ReadOutput struct {
	Output  string `json:"output" doc:"stdout and stderr. What is not UTF-8 is U+FFFD."`
	Cursor  int64  `json:"cursor" doc:"Offset of the end of output, where the next read continues."`
	Dropped int64  `json:"dropped,omitempty" doc:"How many bytes before output are lost."`
	More    bool   `json:"more" doc:"There is more to read already."`
	Matched bool   `json:"matched" doc:"The pattern matched; output ends with the match."`
	Status
}

func (s *Service) read(ctx context.Context, in ReadInput) (out ReadOutput, err error) {
	q, err := in.query()
	if err != nil {
		return out, err
	}
	session, err := s.sessions.Get(ctx, in.Session.Session)
	if err != nil {
		return out, err
	}
	result, status, err := session.read(ctx, q)
	if err != nil {
		return out, err
	}
	return ReadOutput{result.text, result.cursor, result.dropped, result.more, result.matched,
		status}, nil
}

func (in ReadInput) query() (q readQuery, err error) {
	q = readQuery{cursor: in.Cursor, max: int64(in.MaxBytes), until: in.Until,
		wait: milliseconds(in.WaitMS)}
	if in.Pattern != "" {
		if q.until = cmp.Or(q.until, untilPattern); q.until != untilPattern {
			return q, dispatch.InvalidArgument("/until",
				"it is %q, and there is a pattern to wait for; leave one of them out", in.Until)
		}
		q.search, err = ring.NewSearch(in.Pattern)
		return q, err
	}
	if q.until = cmp.Or(q.until, untilNow); q.until == untilPattern {
		return q, dispatch.MissingArgument("pattern", "until says to wait for it")
	}
	return q, nil
}
