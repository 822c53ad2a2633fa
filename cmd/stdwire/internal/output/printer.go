// Package output prints the results of servers, for people, as JSON or raw: results of tools,
// contents of resources, lists, signatures of tools, findings of a scan; and saves binary content
// to files.
package output

import (
	"cmp"
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

func (p *Printer) fail(err error) {
	p.Err = cmp.Or(p.Err, err)
}

// Block prints a block of content. from names the file that it is saved in.
func (p *Printer) Block(block mcp.Content, from string) {
	switch b := block.(type) {
	case *mcp.TextContent:
		p.text(b.Text)
	case *mcp.ImageContent:
		p.printBinary("image "+b.MIMEType, fileName(from, b.MIMEType), b.Data)
	case *mcp.AudioContent:
		p.printBinary("audio "+b.MIMEType, fileName(from, b.MIMEType), b.Data)
	case *mcp.EmbeddedResource:
		p.Resource(&b.Resource)
	case *mcp.ResourceLink:
		if p.Format == "raw" {
			p.text(b.URI + "\n")
			break
		}
		p.printPlaceholder("link " + b.URI + " " + b.Name + " " + b.MIMEType)
	default:
		text, err := mcp.Marshal(block)
		if err != nil {
			text = []byte(err.Error())
		}
		if p.Format == "raw" {
			p.text(string(text) + "\n")
			break
		}
		p.printPlaceholder(string(text))
	}
}

// Resource prints the contents of a resource.
func (p *Printer) Resource(r *mcp.ResourceContents) {
	if r.Blob == nil {
		p.text(r.Text)
		return
	}
	p.printBinary("resource "+r.URI+" "+r.MIMEType, resourceFile(r.URI, r.MIMEType), r.Blob)
}

func (p *Printer) text(text string) {
	switch out := p.Std.Out; {
	case p.Format == "json":
	case p.Format == "raw" && !out.Terminal:
		out.PrintUntrusted(text)
	default:
		out.PrintUntrustedLine(text)
	}
}

// printPlaceholder prints a description of content that cannot be shown.
func (p *Printer) printPlaceholder(text string) {
	if p.Format == "text" {
		p.Std.Out.Print(fmt.Sprintf("[%s]\n", printable.Line(text)))
	}
}

// printBinary prints the size of binary data and the file that it is saved in; or, with format raw,
// the data.
func (p *Printer) printBinary(what, file string, data []byte) {
	what = printable.Line(what)
	if p.Save == nil {
		switch {
		case p.Format != "raw":
			p.printPlaceholder(what + " " + command.Size(len(data)) + " → --save DIR")
		case p.Std.Out.Terminal:
			p.fail(command.Usagef("%s: a terminal cannot show its %s", what,
				command.Size(len(data))).WithHint(
				"redirect the output with > FILE, or save the content with --save DIR"))
		default:
			_, _ = p.Std.Out.Write(data) // the writer keeps an error until Flush
		}
		return
	}
	path, err := p.Save.write(file, data)
	switch {
	case err != nil:
		p.fail(err)
		p.printPlaceholder(what + " " + command.Size(len(data)) + ", not saved")
	case p.Format == "text":
		p.printPlaceholder(what + " " + command.Size(len(data)) + " → " + path)
	default:
		p.Std.Err.Printf("saved %s", printable.Line(path))
	}
}
