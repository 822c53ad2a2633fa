package output

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A List lists the items of a kind that a server has.
type List struct {
	Kind  mcp.Kind
	Items func(context.Context, *client.Client, ...client.CallOption) iter.Seq2[item, error]
	Pages func(context.Context, *client.Client,
		...client.CallOption) iter.Seq2[json.RawMessage, error]
	Empty string // what is printed if there are no items; "": that the server has none

	Note func(*mcp.Tool) string // what is shown with a tool, or ""; nil: nothing
}

// Lists returns the lists in the order of stdwire ls, the tools first.
func Lists() []List {
	all := []List{
		{Kind: mcp.KindTool, Items: ItemsOf((*client.Client).Tools, ToolItem)},
		{Kind: mcp.KindResource, Items: ItemsOf((*client.Client).Resources, resourceItem)},
		{Kind: mcp.KindResourceTemplate,
			Items: ItemsOf((*client.Client).ResourceTemplates, templateItem)},
		{Kind: mcp.KindPrompt, Items: ItemsOf((*client.Client).Prompts, promptItem)},
		{Kind: mcp.KindSkill, Items: ItemsOf((*client.Client).Skills, skillItem)},
	}
	for i := range all {
		kind := all[i].Kind
		all[i].Pages = func(ctx context.Context, c *client.Client,
			options ...client.CallOption) iter.Seq2[json.RawMessage, error] {
			return c.Integration().Pages(ctx, kind, options...)
		}
	}
	return all
}

// Name returns the name of the list on the command line and in messages.
func (l *List) Name() string { return l.Kind.Info().Short + "s" }

// ItemsOf returns a function that lists things with list and turns each into an item with show.
func ItemsOf[T any](
	list func(*client.Client, context.Context, ...client.CallOption) iter.Seq2[T, error],
	show func(T) item) func(context.Context, *client.Client,
	...client.CallOption) iter.Seq2[item, error] {
	return func(ctx context.Context, c *client.Client,
		options ...client.CallOption) iter.Seq2[item, error] {
		return func(yield func(item, error) bool) {
			for each, err := range list(c, ctx, options...) {
				var shown item
				if err == nil {
					shown = show(each)
				}
				if !yield(shown, err) {
					return
				}
			}
		}
	}
}

// Print prints all items.
func (l *List) Print(ctx context.Context, c *client.Client, std *term.Streams,
	output string) error {
	switch output {
	case "json":
		list, err := l.JSON(ctx, c)
		if err != nil {
			return err
		}
		std.Out.PrintJSON(list)
	case "raw":
		for page, err := range l.Pages(ctx, c) {
			if err != nil {
				return err
			}
			std.Out.PrintJSON(page)
		}
	default:
		first := true
		invalid := false
		for each, err := range l.Items(ctx, c) {
			if invalid = WarnInvalid(std, err); invalid {
				break
			}
			if err != nil {
				return err
			}
			if !first {
				std.Out.Print("\n")
			}
			first = false
			std.Out.Print(each.long(std.Out.Columns()))
		}
		if first && !invalid {
			std.Err.Printf("%s", cmp.Or(l.Empty, "the server has no "+l.Name()))
		}
	}
	return nil
}

// WarnInvalid prints a warning if err says that elements of a list are invalid, and reports whether
// it does. The valid ones have been listed before.
func WarnInvalid(std *term.Streams, err error) bool {
	_, invalid := errors.AsType[*client.InvalidItemsError](err)
	if invalid {
		std.Err.Printf("warning: %s", printable.Line(err.Error()))
	}
	return invalid
}

// JSON returns the elements of all pages as one array, byte for byte as the server wrote them.
func (l *List) JSON(ctx context.Context, c *client.Client) ([]byte, error) {
	list := []byte{'['}
	for page, err := range l.Pages(ctx, c) {
		if err != nil {
			return nil, err
		}
		elements := jsonscan.Member(page, l.Kind.Info().ListMember)
		if len(elements) == 0 || elements[0] != '[' {
			return nil, &command.Failure{Code: "internal", What: l.Kind.Info().ListMethod,
				Why: "the result has no array of " + l.Name()}
		}
		if inner := bytes.TrimSpace(elements[1 : len(elements)-1]); len(inner) > 0 {
			list = jsonscan.AppendElement(list, inner)
		}
	}
	return append(list, ']'), nil
}

// An item is an element of a list as it is shown: its signature, as words that may be wrapped, and
// its description.
type item struct {
	head        []string
	description string
}

const maxDescription = 4 // lines of a description in a list

// long returns an item with the beginning of its description.
func (i item) long(columns printable.Columns) string {
	text := i.short(0, columns)
	if i.description == "" {
		return text
	}
	lines := strings.Split(columns.Wrap(i.description, 4, 4), "\n")
	if len(lines) > maxDescription {
		lines = lines[:maxDescription]
		lines[maxDescription-1] += " …"
	}
	return text + strings.Join(lines, "\n") + "\n"
}

// short returns an item without its description.
func (i item) short(indent int, columns printable.Columns) string {
	return columns.WrapWords(i.head, indent, indent+8) + "\n"
}

// displayDescription returns the first paragraph of a description, or else the title if it differs
// from the name.
func displayDescription(description, title, name string) string {
	if paragraph := firstParagraph(description); paragraph != "" {
		return paragraph
	}
	if title = printable.Line(title); title != printable.Line(name) {
		return title
	}
	return ""
}

// firstParagraph returns the text before the first empty line, on one line.
func firstParagraph(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line = printable.Line(line); line == "" {
			break
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " ")
}

// Overview returns the part of a list of everything for one kind, or "" if it has nothing to show.
func (l *List) Overview(ctx context.Context, c *client.Client, std *term.Streams,
	output string) (string, error) {
	if output == "json" {
		list, err := l.JSON(ctx, c)
		member := jsonscan.AppendString(nil, l.Kind.Info().ListMember)
		return string(member) + ":" + string(list), err
	}
	var b strings.Builder
	for each, err := range l.Items(ctx, c) {
		if WarnInvalid(std, err) {
			break
		}
		if err != nil {
			return "", err
		}
		if b.Len() == 0 {
			fmt.Fprintf(&b, "%s\n", l.Name())
		}
		b.WriteString(each.short(2, std.Out.Columns()))
	}
	return b.String(), nil
}
