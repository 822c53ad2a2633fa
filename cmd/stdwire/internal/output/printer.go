// Package output prints the results of servers, for people, as JSON or raw: results of tools,
// contents of resources, lists, signatures of tools, findings of a scan; and saves binary content
// to files.
package output

import (
	"fmt"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Printer prints the results of a server and saves binary content.
type Printer struct {
	Std *term.Streams
	// text: for people; raw: the content alone; json: nothing, because the caller prints the result
	// itself
	Format string
	Save   *Saver // nil: nothing is saved
	Err    error  // the first error; printing goes on after it
}

func (v *Printer) fail(err error) {
	if v.Err == nil {
		v.Err = err
	}
}

// Block prints a block of content. from names the file that it is saved in.
func (v *Printer) Block(block mcp.Content, from string) {
	switch b := block.(type) {
	case *mcp.TextContent:
		v.text(b.Text)
	case *mcp.ImageContent:
		v.printBinary("image "+b.MIMEType, fileName(from, b.MIMEType), b.Data)
	case *mcp.AudioContent:
		v.printBinary("audio "+b.MIMEType, fileName(from, b.MIMEType), b.Data)
	case *mcp.EmbeddedResource:
		v.Resource(&b.Resource)
	case *mcp.ResourceLink:
		if v.Format == "raw" {
			v.text(b.URI + "\n")
			break
		}
		v.printPlaceholder("link " + b.URI + " " + b.Name + " " + b.MIMEType)
	default:
		text, err := mcp.Marshal(block)
		if err != nil {
			text = []byte(block.Type())
		}
		if v.Format == "raw" {
			v.text(string(text) + "\n")
			break
		}
		v.printPlaceholder(string(text))
	}
}

// Resource prints the contents of a resource.
func (v *Printer) Resource(r *mcp.ResourceContents) {
	if r.Blob == nil {
		v.text(r.Text)
		return
	}
	v.printBinary("resource "+r.URI+" "+r.MIMEType, resourceFile(r.URI, r.MIMEType), r.Blob)
}

func (v *Printer) text(text string) {
	switch out := v.Std.Out; {
	case v.Format == "json":
	case v.Format == "raw" && !out.Terminal:
		out.PrintUntrusted(text)
	default:
		out.PrintUntrustedLine(text)
	}
}

// printPlaceholder prints a description of content that cannot be shown.
func (v *Printer) printPlaceholder(text string) {
	if v.Format == "text" {
		v.Std.Out.Print(fmt.Sprintf("[%s]\n", printable.Line(text)))
	}
}

// printBinary prints the size of binary data and the file that it is saved in; or, with format raw,
// the data.
func (v *Printer) printBinary(what, file string, data []byte) {
	what = printable.Line(what)
	if v.Save == nil {
		switch {
		case v.Format != "raw":
			v.printPlaceholder(what + " " + command.Size(len(data)) + " → --save DIR")
		case v.Std.Out.Terminal:
			v.fail(command.Usagef("%s: its %s are not for a terminal", what,
				command.Size(len(data))).WithHint(
				"send them elsewhere with > FILE, or to a file of their own with --save DIR"))
		default:
			_, _ = v.Std.Out.Write(data) // an error stays in the writer, for flush
		}
		return
	}
	path, err := v.Save.write(file, data)
	switch {
	case err != nil:
		v.fail(err)
		v.printPlaceholder(what + " " + command.Size(len(data)) + ", not saved")
	case v.Format == "text":
		v.printPlaceholder(what + " " + command.Size(len(data)) + " → " + path)
	default:
		v.Std.Err.Printf("saved %s", printable.Line(path))
	}
}
