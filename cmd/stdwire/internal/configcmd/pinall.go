package configcmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/pin"
	"github.com/stdwire/stdwire/internal/printable"
)

// nothingPinned is the message for a file without pins.
const nothingPinned = "nothing is recorded: stdwire serve and stdwire run record definitions at their first use"

// list prints the servers with pins and the numbers of these.
func (p *pinOptions) list(std *term.Streams, pins *pin.File) error {
	if len(p.names) > 0 {
		return command.Usagef("unexpected argument %q", p.names[0])
	}
	servers, err := pins.Summaries()
	if err != nil {
		return p.failure(err)
	}
	if p.output == "json" {
		return std.Out.PrintValue(append([]pin.Summary{}, servers...))
	}
	if servers == nil {
		std.Err.Printf(nothingPinned)
	}
	number := map[string]int{} // of sources, by ID
	for _, s := range servers {
		number[s.ID]++
	}
	for _, s := range servers {
		var counts []string
		for kind := range pin.Kinds() {
			switch n := s.Pins[kind]; {
			case n > 0 && kind == pin.Instructions:
				counts = append(counts, string(kind))
			case n > 0:
				counts = append(counts, command.Plural(n, string(kind)))
			}
		}
		which := ""
		if number[s.ID] > 1 {
			which = "  " + printable.Line(cmp.Or(s.Source, "of an earlier version, of any file"))
		}
		std.Out.Print(fmt.Sprintf("%s  %s%s\n", printable.Line(s.ID),
			cmp.Or(strings.Join(counts, ", "), "nothing"), which))
	}
	return nil
}

// diffAll compares all servers with pins. It prints each failure but the last, which it returns.
func (p *pinOptions) diffAll(ctx context.Context, std *term.Streams, pins *pin.File) error {
	servers, err := pins.Summaries()
	if err != nil {
		return p.failure(err)
	}
	if servers == nil {
		std.Err.Printf(nothingPinned)
	}
	var last *command.Failure
	done := map[string]bool{}
	for _, s := range servers {
		source := p.target.Configured.Source(s.ID)
		switch {
		case source == "" && s.Source != "":
			std.Err.Printf("%s: it is not in the configuration; stdwire pin rm -s %[1]s deletes its records, of %s",
				printable.Line(s.ID), printable.Line(s.Source))
			continue
		case source == "":
			std.Err.Printf("%s: it is not in the configuration; stdwire pin rm -s %[1]s deletes its records",
				printable.Line(s.ID))
			continue
		case done[s.ID] || s.Source != "" && s.Source != source: // of another configuration
			continue
		}
		done[s.ID] = true
		t := *p.target
		t.Configured.ID = s.ID
		err := p.compare(ctx, std, pins, &t)
		if err == nil {
			continue
		}
		f := command.AsFailure(ctx, err)
		if context.Cause(ctx) != nil {
			return f
		}
		if last != nil {
			last.Print(std.Err, false)
		}
		last = f
	}
	if last == nil {
		return nil
	}
	return last
}
