package framing_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stdwire/stdwire/framing"
)

func ExampleNewline() {
	c := framing.Newline(strings.NewReader("{\"id\":1}\n\n{\"id\":2}\r\n{\"id\":3}"),
		framing.Limits{})
	var frame []byte
	for {
		var err error
		if frame, err = c.ReadFrame(frame); err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%s\n", frame)
	}
	wire, _ := c.AppendFrame(nil, []byte(`{"id":`), []byte(`4`), []byte(`}`))
	wire, _ = c.AppendFrame(wire, []byte(`{"id":5}`))
	fmt.Printf("%q\n", wire)
	// Output:
	// {"id":1}
	// {"id":2}
	// {"id":3}
	// EOF
	// "{\"id\":4}\n{\"id\":5}\n"
}

func ExampleContentLength() {
	in := "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n" +
		"Content-Length: 8\r\n\r\n{\"id\":1}"
	c := framing.ContentLength(strings.NewReader(in), framing.Limits{})
	frame, err := c.ReadFrame(nil)
	fmt.Printf("%s %v\n", frame, err)
	wire, err := c.AppendFrame(nil, []byte(`{"id":2}`))
	fmt.Printf("%q %v\n", wire, err)
	// Output:
	// {"id":1} <nil>
	// "Content-Length: 8\r\n\r\n{\"id\":2}" <nil>
}

// Auto uses the framing of the other side.
func ExampleAuto() {
	for _, in := range []string{"{\"id\":1}\n", "Content-Length: 8\r\n\r\n{\"id\":1}"} {
		c := framing.Auto(strings.NewReader(in), framing.Limits{})
		frame, _ := c.ReadFrame(nil)
		wire, _ := c.AppendFrame(nil, frame)
		fmt.Printf("%q\n", wire)
	}
	// Output:
	// "{\"id\":1}\n"
	// "Content-Length: 8\r\n\r\n{\"id\":1}"
}

// A reader distinguishes errors about one frame from those that end the stream.
func ExampleFrameError() {
	in := "{\"id\":1}\n{\"id\":\"much too long\"}\n{\"id\":2}\n"
	c := framing.Newline(strings.NewReader(in), framing.Limits{MaxFrame: 10})
	var frame []byte
	for {
		var err error
		frame, err = c.ReadFrame(frame)
		if skipped, ok := errors.AsType[*framing.FrameError](err); ok {
			fmt.Println("answer the peer:", skipped)
			continue
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println("close the connection:", err)
			break
		}
		fmt.Printf("handle %s\n", frame)
	}
	// Output:
	// handle {"id":1}
	// answer the peer: framing: frame of 22 bytes is over the limit of 10: send less, or raise the limit
	// handle {"id":2}
}
