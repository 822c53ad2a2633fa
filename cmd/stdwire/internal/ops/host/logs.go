package host

import (
	"context"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/printable"
)

const (
	maxWait     = 60                          // seconds
	logsTimeout = (maxWait + 5) * time.Second // timeout of the operation
)

// LogsInput are the arguments of host.logs.
type LogsInput struct {
	Server string `json:"server" doc:"The server's id, as host.status reports it."`
	After  int64  `json:"after,omitempty" doc:"The next of an earlier call, to return only later output." min:"0"`
	Wait   int    `json:"wait_seconds,omitempty" doc:"How long to wait for output if there is none." min:"0" max:"60"`
}

// LogsOutput is the data of host.logs.
type LogsOutput struct {
	Text   string `json:"text" doc:"The output unchanged, terminal escape sequences included; a line that begins with -- reports a start or an end."`
	Next   int64  `json:"next"`
	Missed int64  `json:"missed,omitempty" doc:"How many bytes before text are no longer kept."`
}

func (o *Options) logs(ctx context.Context, in LogsInput) (LogsOutput, error) {
	log, err := o.Manager.Log(in.Server)
	if err != nil {
		return LogsOutput{}, unknownServer(in.Server)
	}
	timer := time.NewTimer(time.Duration(in.Wait) * time.Second)
	defer timer.Stop()
	for {
		text, next, missed, grown := log.From(in.After)
		whole := printable.TrimPartialRune(text)
		out := LogsOutput{Text: strings.ToValidUTF8(string(whole), "\uFFFD"),
			Next: next - int64(len(text)-len(whole)), Missed: missed}
		if len(whole) > 0 || in.Wait == 0 {
			return out, nil
		}
		select {
		case <-grown:
		case <-timer.C:
			return out, nil
		case <-ctx.Done():
			return LogsOutput{}, ctx.Err()
		}
	}
}
