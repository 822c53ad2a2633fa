package host

import (
	"context"
	"time"
)

// MessagesInput are the arguments of host.messages.
type MessagesInput struct {
	After int64 `json:"after,omitempty" doc:"The next of an earlier call, to return only later messages." min:"0"`
	Wait  int   `json:"wait_seconds,omitempty" doc:"How long to wait for messages if there are none." min:"0" max:"60"`
}

// MessagesOutput is the data of host.messages.
type MessagesOutput struct {
	Messages []Message `json:"messages"`
	Next     int64     `json:"next"`
	Missed   int64     `json:"missed,omitempty" doc:"How many messages before these are no longer kept."`
}

// A Message is a message between the gateway and a client or server.
type Message struct {
	Lane   string `json:"lane" doc:"The id of a server, or the number of a client and the name that it has given itself."`
	Client bool   `json:"client,omitempty" doc:"The lane is that of a client, not of a server."`
	Record string `json:"record" doc:"A line of a recording of stdwire tap."`
}

// messages returns messages once there are some, or after the time of in.
func (o *Options) messages(ctx context.Context, in MessagesInput) (MessagesOutput, error) {
	waiting, cancel := context.WithTimeout(ctx, time.Duration(in.Wait)*time.Second)
	defer cancel()
	return o.Messages(waiting, in.After), ctx.Err()
}
