package output

import (
	"fmt"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A View prints what a server returned, and saves what is to be saved.
type View struct {
	Std    *term.Streams
	Output string // text: for people; raw: the content itself and nothing else; json: nothing here, as the whole result is printed as the server wrote it
	Save   *Saver // nil: nothing is saved
	Err    error  // the first that went wrong; what comes after it is shown all the same
}

func (v *View) fail(err error) {
	if v.Err == nil {
		v.Err = err
	}
}

// Block shows a block of content. What is saved of it is named after what it came from.
func (v *View) Block(block mcp.Content, from string) {
	switch b := block.(type) {
	case *mcp.TextContent:
		v.text(b.Text)
	case *mcp.ImageContent:
		v.bytes("image "+b.MIMEType, fileName(from, b.MIMEType), b.Data)
	case *mcp.AudioContent:
		v.bytes("audio "+b.MIMEType, fileName(from, b.MIMEType), b.Data)
	case *mcp.EmbeddedResource:
		v.Resource(&b.Resource)
	case *mcp.ResourceLink:
		if v.Output == "raw" {
			v.text(b.URI + "\n")
			break
		}
		v.label("link " + b.URI + " " + b.Name + " " + b.MIMEType)
	default:
		text, err := mcp.Marshal(block)
		if err != nil {
			text = []byte(block.Type())
		}
		if v.Output == "raw" {
			v.text(string(text) + "\n")
			break
		}
		v.label(string(text))
	}
}

// Resource shows what a resource has in it.
func (v *View) Resource(r *mcp.ResourceContents) {
	if r.Blob == nil {
		v.text(r.Text)
		return
	}
	v.bytes("resource "+r.URI+" "+r.MIMEType, resourceFile(r.URI, r.MIMEType), r.Blob)
}

func (v *View) text(text string) {
	switch out := v.Std.Out; {
	case v.Output == "json":
	case v.Output == "raw" && !out.Terminal:
		out.PrintUntrusted(text)
	default:
		out.PrintUntrustedLine(text)
	}
}

// label stands for what cannot be shown.
func (v *View) label(text string) {
	if v.Output == "text" {
		v.Std.Out.Print(fmt.Sprintf("[%s]\n", printable.Line(text)))
	}
}

// bytes shows that there are some, and where they are; or, if they are wanted raw and not in a file, the bytes.
func (v *View) bytes(what, file string, data []byte) {
	what = printable.Line(what)
	if v.Save == nil {
		switch {
		case v.Output != "raw":
			v.label(what + " " + command.Size(len(data)) + " → --save DIR")
		case v.Std.Out.Terminal:
			v.fail(command.Usagef("%s: its %s are not for a terminal", what, command.Size(len(data))).WithHint("send them elsewhere with > FILE, or to a file of their own with --save DIR"))
		default:
			_, _ = v.Std.Out.Write(data) // an error stays in the writer, for flush
		}
		return
	}
	path, err := v.Save.write(file, data)
	switch {
	case err != nil:
		v.fail(err)
		v.label(what + " " + command.Size(len(data)) + ", not saved")
	case v.Output == "text":
		v.label(what + " " + command.Size(len(data)) + " → " + path)
	default:
		v.Std.Err.Printf("saved %s", printable.Line(path))
	}
}
