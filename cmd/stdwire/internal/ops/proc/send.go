package proc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

// maxWait is the maximum wait of a call. The operations' own timeout is longer, and never reached.
const (
	maxWait     = 10 * time.Minute
	waitTimeout = maxWait + time.Minute
)

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

var sendSpec = dispatch.Spec{
	Name:    "proc.send",
	Title:   "Send to process",
	Summary: "Write text, or bytes as base64, to the stdin of a session's process.",
	Description: "Write text, or bytes as base64, to the stdin of a session's process. Waits while the process does not read and the pipe is full. " +
		"If the time runs out before all is written, the error is timeout, and details.bytes_written says how much has been.",
	Type:    dispatch.Write,
	Errors:  []dispatch.Code{dispatch.StateError},
	Timeout: waitTimeout,
	Examples: []dispatch.Example{
		{Summary: "A line",
			Input: json.RawMessage(`{"session":"python3-4f9a2c","text":"print(6*7)"}`)},
		{Summary: "The last of the input",
			Input: json.RawMessage(`{"text":"b,a\n","newline":false,"eof":true}`)},
	},
}

// SendInput are the arguments of proc.send.
type SendInput struct {
	dispatch.Session
	Text      *string `json:"text,omitempty" doc:"What to write. It may be left out with eof." maxLength:"1048576"`
	Newline   bool    `json:"newline,omitempty" doc:"Write a line feed after text. Not with base64." default:"true"`
	Encoding  string  `json:"encoding,omitempty" doc:"Form of text. base64: bytes, written without a line feed." enum:"text,base64" default:"text"`
	EOF       bool    `json:"eof,omitempty" doc:"Close the stdin of the process after that: nothing can be sent any more."`
	TimeoutMS int     `json:"timeout_ms,omitempty" doc:"How many milliseconds to wait at most while the process does not read." default:"30000" min:"1" max:"600000"`
}

// SendOutput is the data of proc.send.
type SendOutput struct {
	BytesWritten int `json:"bytes_written" doc:"The line feed included."`
}

func (s *Service) send(ctx context.Context, in SendInput) (out SendOutput, err error) {
	data, err := in.data()
	if err != nil {
		return out, err
	}
	session, err := s.sessions.Get(ctx, in.Session.Session)
	if err != nil {
		return out, err
	}
	if session.hasEnded() {
		return out, dispatch.Errorf(dispatch.StateError, "the process of %q has ended", session.id)
	}
	ctx, cancel := context.WithTimeout(ctx, milliseconds(in.TimeoutMS))
	defer cancel()
	out.BytesWritten, err = session.stdin.write(ctx, data, in.EOF)
	written := map[string]any{"bytes_written": out.BytesWritten}
	if failure, ok := errors.AsType[*dispatch.Error](err); ok {
		return out, failure.With(written)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return out, dispatch.Errorf(dispatch.Timeout,
			"%q does not read its input: %d of %d bytes were written in %d ms",
			session.id, out.BytesWritten, len(data), in.TimeoutMS).With(written)
	}
	return out, err
}

// data returns the bytes to send.
func (in SendInput) data() ([]byte, error) {
	switch {
	case in.Text == nil && !in.EOF:
		return nil, dispatch.MissingArgument("text",
			"there is nothing to send without it, unless eof is set")
	case in.Text == nil:
		return nil, nil
	case in.Encoding == "base64":
		data, err := base64.StdEncoding.DecodeString(*in.Text)
		if err != nil {
			return nil, dispatch.InvalidArgument("/text", "it is not base64: %w", err)
		}
		return data, nil
	case in.Newline:
		return []byte(*in.Text + "\n"), nil
	}
	return []byte(*in.Text), nil
}
