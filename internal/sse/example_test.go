package sse_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stdwire/stdwire/internal/sse"
)

func ExampleReader() {
	stream := ": ready\n\nid: 7\nretry: 2000\ndata: {\"id\":1,\ndata: \"result\":{}}\n\nevent: log\ndata: this is far too long to be taken\n\ndata: short\n\n"
	r := sse.NewReader(strings.NewReader(stream), sse.Limits{MaxData: 24})
	for {
		e, err := r.Next()
		if _, lost := errors.AsType[*sse.LimitError](err); lost {
			fmt.Println("lost:", err)
			continue
		}
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%s %s %q\n", e.ID, e.Type, e.Data)
	}
	wait, _ := r.Retry()
	fmt.Printf("resume after %q in %v\n", r.LastEventID(), wait)
	// Output:
	// 7 message "{\"id\":1,\n\"result\":{}}"
	// lost: sse: data of an event is over the limit of 24 bytes: send less, or raise Limits.MaxData
	// 7 message "short"
	// EOF
	// resume after "7" in 2s
}

func ExampleAppend() {
	wire, err := sse.Append(nil,
		sse.Event{ID: "7", Type: sse.DefaultType,
			Data: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)})
	if err != nil {
		fmt.Println(err)
	}
	wire = sse.AppendComment(wire, "")
	wire = sse.AppendRetry(wire, 2*time.Second)
	fmt.Print(string(wire))

	_, err = sse.Append(nil, sse.Event{ID: "7\ndata: forged"})
	fmt.Println(err)
	// Output:
	// id: 7
	// event: message
	// data: {"jsonrpc":"2.0","id":1,"result":{}}
	//
	// :
	// retry: 2000
	//
	// sse: field cannot be sent: the id "7\ndata: forged" contains a line break: encode it before it is sent
}
