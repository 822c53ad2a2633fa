package main

import (
	"fmt"

	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A view prints what a server returned, and saves what is to be saved.
type view struct {
	std    *streams
	output string // text: for people; raw: the content itself and nothing else; json: nothing here, as the whole result is printed as the server wrote it
	save   *saver // nil: nothing is saved
	err    error  // the first that went wrong; what comes after it is shown all the same
}

func (v *view) fail(err error) {
	if v.err == nil {
		v.err = err
	}
}

// block shows a block of content. What is saved of it is named after what it came from.
func (v *view) block(block mcp.Content, from string) {
	switch b := block.(type) {
	case *mcp.TextContent:
		v.text(b.Text)
	case *mcp.ImageContent:
		v.bytes("image "+b.MIMEType, fileName(from, b.MIMEType), b.Data)
	case *mcp.AudioContent:
		v.bytes("audio "+b.MIMEType, fileName(from, b.MIMEType), b.Data)
	case *mcp.EmbeddedResource:
		v.resource(&b.Resource)
	case *mcp.ResourceLink:
		if v.output == "raw" {
			v.text(b.URI + "\n")
			break
		}
		v.label("link " + b.URI + " " + b.Name + " " + b.MIMEType)
	default:
		text, err := mcp.Marshal(block)
		if err != nil {
			text = []byte(block.Type())
		}
		if v.output == "raw" {
			v.text(string(text) + "\n")
			break
		}
		v.label(string(text))
	}
}

// resource shows what a resource has in it.
func (v *view) resource(r *mcp.ResourceContents) {
	if r.Blob == nil {
		v.text(r.Text)
		return
	}
	v.bytes("resource "+r.URI+" "+r.MIMEType, resourceFile(r.URI, r.MIMEType), r.Blob)
}

func (v *view) text(text string) {
	switch out := v.std.out; {
	case v.output == "json":
	case v.output == "raw" && !out.terminal:
		out.foreign(text)
	default:
		out.lines(text)
	}
}

// label stands for what cannot be shown.
func (v *view) label(text string) {
	if v.output == "text" {
		v.std.out.print(fmt.Sprintf("[%s]\n", printable.Line(text)))
	}
}

// bytes shows that there are some, and where they are; or, if they are wanted raw and not in a file, the bytes.
func (v *view) bytes(what, file string, data []byte) {
	what = printable.Line(what)
	if v.save == nil {
		switch {
		case v.output != "raw":
			v.label(what + " " + size(len(data)) + " → --save DIR")
		case v.std.out.terminal:
			v.fail(usagef("%s: its %s are not for a terminal", what, size(len(data))).withHint("send them elsewhere with > FILE, or to a file of their own with --save DIR"))
		default:
			_, _ = v.std.out.Write(data) // an error stays in the writer, for flush
		}
		return
	}
	path, err := v.save.write(file, data)
	switch {
	case err != nil:
		v.fail(err)
		v.label(what + " " + size(len(data)) + ", not saved")
	case v.output == "text":
		v.label(what + " " + size(len(data)) + " → " + path)
	default:
		v.std.err.printf("saved %s", printable.Line(path))
	}
}
